"""What docs/accelerators.md and examples/06_accelerator show works as it stands there."""

import re
import subprocess
import sys

import pytest

from conftest import ROOT

pytestmark = pytest.mark.cc

PAGE = (ROOT / "docs/accelerators.md").read_text()
PYTHON = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
DECLARATION, SOURCE, APPLICATION = re.findall(r"```c\n(.*?)```", PAGE, re.DOTALL)


def run(script, *arguments, cwd):
    command = [sys.executable, script, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=cwd).stdout


def test_the_float_model(tmp_path):
    code, _ = PYTHON
    (tmp_path / "accel.c").write_text(SOURCE)
    (tmp_path / "model.py").write_text(f"{code}\nprint(factory.header)\n")
    printed = run("model.py", cwd=tmp_path)
    assert set(printed.splitlines()[:4]) == {
        "from_c tir_tanh",
        "shared call_accel_main_0",
        "global_const_workspace constant0",
        "[[0.33333334 0.33333334 0.33333334]]",
    }
    assert DECLARATION in printed


def test_the_application(tmp_path):
    """Two external pools, so the run takes all four structs."""
    code, _ = PYTHON
    (tmp_path / "accel.c").write_text(SOURCE)
    (tmp_path / "model.py").write_text(f"{code}\nprint('HEADER')\nprint(factory.header)\n")
    header = run("model.py", cwd=tmp_path).partition("HEADER\n")[2]
    (tmp_path / "tvmgen_default.h").write_text(header)
    (tmp_path / "main.c").write_text(
        '#include "tvmgen_default.h"\n'
        "static int my_driver;\nstatic struct tvmgen_default_inputs inputs;\n"
        "static struct tvmgen_default_outputs outputs;\n"
        "static struct tvmgen_default_workspace_pools pools;\n"
        f"int32_t run(void);\nint32_t run(void) {{ {APPLICATION} return status; }}\n"
    )
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-c"]
    subprocess.run(["cc", *strict, "main.c", "accel.c"], check=True, cwd=tmp_path)


def test_what_the_function_states(tmp_path):
    """The statement stands before the build; scratch memory of one float for each output."""
    code, statement = PYTHON
    build = code.partition("module = factory.load")[0]
    (tmp_path / "model.py").write_text(f"{statement}\n{build}\nprint(factory.header)\n")
    header = " ".join(run("model.py", cwd=tmp_path).split())
    assert "It cannot fail." in header
    assert (
        "void tvmgen_default_accel_main_0( const float* input, const float* constant0, "
        "float* output, uint8_t* workspace, void* device);"
    ) in header
    assert "uint8[12]" in header


def test_the_example(tmp_path):
    printed = run(ROOT / "examples/06_accelerator/run.py", cwd=ROOT).splitlines()
    assert printed[-1] == "360 of 360 images: the same output with the accelerator as without"
    pools = {line.split("[")[0] for line in printed[:-2]}
    assert pools == {"dtcm", "itcm", "npu_flash", "npu_sram", "sram"}


def test_the_c_of_the_example_is_strict(tmp_path, digits_model):
    """The header that it includes is that of the model."""
    run(
        "-c",
        "import sys; sys.path.insert(0, sys.argv[1]); import patterns, usmp\n"
        "factory = usmp.build(usmp.import_model(sys.argv[2]), 'accel,c', module_name='digits')\n"
        "open('tvmgen_digits.h', 'w').write(factory.header)",
        ROOT / "examples/06_accelerator",
        digits_model,
        cwd=tmp_path,
    )
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I."]
    source = ROOT / "examples/06_accelerator/accel.c"
    subprocess.run(["cc", *strict, "-c", source, "-o", "accel.o"], check=True, cwd=tmp_path)
