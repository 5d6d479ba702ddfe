"""What docs/accelerators.md and examples/06_accelerator show works as it stands there."""

import re
import runpy

import pytest
from tvm.ir.transform import PassContext

import usmp
from conftest import ROOT
from support.compilers import run_compiler
from support.python_here import registering, run_python, run_script

pytestmark = pytest.mark.cc

EXAMPLE = ROOT / "examples/06_accelerator"
PAGE = (ROOT / "docs/accelerators.md").read_text()
PYTHON = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
DECLARATION, SOURCE, APPLICATION = re.findall(r"```c\n(.*?)```", PAGE, re.DOTALL)


def test_the_float_model_and_the_application(tmp_path):
    """It has two external pools, so the run takes all four structs."""
    code, _ = PYTHON
    (tmp_path / "accel.c").write_text(SOURCE)
    printed = run_python(f"{code}\nprint('HEADER')\nprint(factory.header)\n", tmp_path)
    lines, _, header = printed.partition("HEADER\n")
    assert set(lines.splitlines()) == {
        "from_c tir_tanh",
        "shared call_accel_main_0",
        "global_const_workspace constant0",
        "[[0.33333334 0.33333334 0.33333334]]",
    }
    assert DECLARATION in header
    (tmp_path / "tvmgen_default.h").write_text(header)
    (tmp_path / "main.c").write_text(
        '#include "tvmgen_default.h"\n'
        "static int my_driver;\nstatic struct tvmgen_default_inputs inputs;\n"
        "static struct tvmgen_default_outputs outputs;\n"
        "static struct tvmgen_default_workspace_pools pools;\n"
        f"int32_t run(void);\nint32_t run(void) {{ {APPLICATION} return status; }}\n"
    )
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-c"]
    run_compiler(["cc", *strict, "main.c", "accel.c"], cwd=tmp_path)


def test_what_the_function_states(tmp_path):
    """The statement stands before the build; scratch memory of one float for each output."""
    code, statement = PYTHON
    build = code.partition("module = factory.load")[0]
    printed = run_python(f"{statement}\n{build}\nprint(factory.header)\n", tmp_path)
    header = " ".join(printed.split())
    assert "It cannot fail." in header
    assert (
        "void tvmgen_default_accel_main_0( const float* input, const float* constant0, "
        "float* output, uint8_t* workspace, void* device);"
    ) in header
    assert "uint8[12]" in header


@pytest.mark.slow
def test_the_example():
    """It runs from any folder, its own too."""
    printed = run_script(EXAMPLE / "run.py", folder=EXAMPLE).splitlines()
    assert printed[-1] == "360 of 360 images: the same output with the accelerator as without"
    pools = {line.split("[")[0] for line in printed[:-2]}
    assert pools == {"dtcm", "itcm", "npu_flash", "npu_sram", "sram"}


@pytest.mark.slow
def test_the_c_of_the_example_is_strict(tmp_path, digits_model):
    """The header that it includes is that of the model."""
    config = {"tir.usmp.algorithm": "hill_climb"}
    with registering(), PassContext(config=config, disabled_pass=["StreamOperators"]):
        runpy.run_path(str(EXAMPLE / "patterns.py"))
        factory = usmp.build(digits_model, "accel,c", module_name="digits")
    (tmp_path / "tvmgen_digits.h").write_text(factory.header)
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I."]
    source = EXAMPLE / "accel.c"
    run_compiler(["cc", *strict, "-c", source, "-o", "accel.o"], cwd=tmp_path)
