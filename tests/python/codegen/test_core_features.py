"""A compiler for Arm that lacks what the target's core has says so once, and makes portable C."""

from __future__ import annotations

import subprocess

import pytest
from tvm.ir.transform import PassContext

import usmp
from conftest import ROOT
from support.compilers import require


@pytest.fixture(scope="module")
def source():
    """Operators one after the other, which are less code to compile."""
    with PassContext(config={"tir.usmp.streaming": False}):
        return usmp.build(ROOT / "examples/digits/digits_int8.tflite", "c -mcpu=cortex-m4")


def compiled(factory, folder, compiler, *options):
    """What the compiler prints."""
    require(compiler)
    for path, content in factory.files().items():
        name = path.rsplit("/", 1)[-1]
        if path.startswith("codegen/"):
            (folder / name).write_bytes(content)
    command = [compiler, "-std=c99", "-O2", "-c", "-I.", *options, "default_lib0.c"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.cc
def test_one_warning(source, tmp_path):
    said = compiled(source, tmp_path, "arm-none-eabi-gcc", "-mcpu=cortex-m3", "-mthumb")
    warning = '#warning "portable C: the compiler lacks the DSP extension; compile with -mcpu='
    assert said.count("warning:") == 1
    assert warning + 'cortex-m4"' in said


@pytest.mark.cc
@pytest.mark.parametrize(
    ("compiler", "options"),
    [
        ("arm-none-eabi-gcc", ("-mcpu=cortex-m4", "-mthumb")),
        ("arm-none-eabi-gcc", ("-mcpu=cortex-m3", "-mthumb", "-DTVMGEN_PORTABLE")),
        ("gcc", ()),
        ("riscv64-unknown-elf-gcc", ("--specs=picolibc.specs",)),
    ],
)
def test_none_where_nothing_is_missing_or_the_processor_is_another(
    source, tmp_path, compiler, options
):
    strict = ("-Wall", "-Wextra", "-Werror", "-pedantic")
    assert compiled(source, tmp_path, compiler, *strict, *options) == ""
