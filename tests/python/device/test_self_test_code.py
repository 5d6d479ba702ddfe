"""The C of a self test that is equal for all models: float16 numbers, and variables of its own."""

from __future__ import annotations

import subprocess
from importlib.resources import files

import numpy as np
import pytest
from tvm import relax

import usmp
from support.c_program import SANITIZERS
from support.compilers import require, run_compiler
from support.device_programs import STRICT
from support.small_digits import small_digits
from usmp.driver.tvmc import main
from usmp.frontend.tflite.importer import import_tflite
from usmp.runtime import load_archive
from usmp.runtime.write_files import write_files

DECODER = """#include <stdio.h>
#include "usmp_self_test.c"
int main(void) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = float_of_16((uint16_t)bits);
    fwrite(&value, sizeof(value), 1, stdout);
  }
  return 0;
}
"""


@pytest.mark.cc
def test_all_float16_numbers_are_decoded(tmp_path):
    (tmp_path / "main.c").write_text(DECODER)
    flags = (*STRICT, *SANITIZERS, f"-I{files('usmp.device').joinpath('files')}")
    program = tmp_path / "program"
    run_compiler(["gcc", *flags, tmp_path / "main.c", "-o", program])
    done = subprocess.run([program], check=True, capture_output=True)
    decoded = np.frombuffer(done.stdout, np.float32)
    expected = np.arange(65536, dtype=np.uint16).view(np.float16).astype(np.float32)
    np.testing.assert_array_equal(decoded, expected)
    np.testing.assert_array_equal(np.signbit(decoded), np.signbit(expected))


@pytest.mark.board
def test_the_test_has_no_variables_of_its_own(model, tmp_path):
    """Nor has the C library, such as errno. Floats are compared only if a model has some."""
    require("arm-none-eabi-gcc")
    halves = model(lambda b, x: relax.op.nn.relu(x), ("x", (4,), "float16"))
    integers, floats = (
        symbols(mod, tmp_path / name)
        for name, mod in (("integers", import_tflite(small_digits())), ("floats", halves))
    )
    for kinds in (integers, floats):
        assert "usmp_self_test" in kinds
        assert not {name for name, kind in kinds.items() if kind in "dD"} - LINKED
        assert not kinds.keys() & {"usmp_equals_float64", "__errno", "_impure_ptr", "ldexpf"}
    assert "usmp_equals_float16" in floats
    assert not [name for name in integers if "float" in name]


LINKED = {"__data_start", "_edata", "edata", "__end__", "_end", "end"}
"""Symbols of the linker script, which name no bytes."""


def symbols(mod, folder):
    """The symbols of a program for a Cortex-M4 that is a self test, and their kinds as of nm."""
    folder.mkdir()
    usmp.build(mod).export_model_library_format(folder / "model.tar")
    test, code = folder / "test", load_archive(folder / "model.tar").code()
    assert main(["export-test", str(folder / "model.tar"), "-o", str(test), "-q"]) == 0
    (folder / "main.c").write_text(
        '#include "tvmgen_default_device.h"\n'
        "int main(void) { return (int)tvmgen_default_self_test(); }\n"
    )
    sources = [path for path in write_files(code, folder) if path.suffix == ".c"]
    sources += [folder / "main.c", *sorted(test.glob("*.c"))]
    flags = ["-mcpu=cortex-m4", "-mthumb", "-O2", "-ffunction-sections", "-fdata-sections"]
    flags += ["-nostartfiles", "--specs=nosys.specs", "-Wl,--gc-sections", "-Wl,--entry=main"]
    include = [f"-I{folder / 'codegen/host/include'}", f"-I{test}"]
    elf = folder / "program.elf"
    run_compiler(["arm-none-eabi-gcc", *flags, *include, *sources, "-lm", "-o", elf])
    listed = subprocess.run(["arm-none-eabi-nm", elf], check=True, capture_output=True, text=True)
    lines = (line.split() for line in listed.stdout.splitlines())
    return {name: kind for *_, kind, name in lines}
