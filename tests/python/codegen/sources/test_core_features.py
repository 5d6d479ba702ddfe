"""A compiler for Arm that lacks what the target's core has says so once, and makes portable C."""

from __future__ import annotations

import pytest

import usmp
from support.compilers import require, run_compiler
from support.imported_models import imported_model


@pytest.fixture(scope="module")
def source():
    return usmp.build(imported_model("conv_2d_same"), "c -mcpu=cortex-m4")


def compiled(factory, folder, compiler, *options):
    """What the compiler prints."""
    require(compiler)
    for path, content in factory.files().items():
        name = path.rsplit("/", 1)[-1]
        if path.startswith("codegen/"):
            (folder / name).write_bytes(content)
    command = [compiler, "-std=c99", "-O2", "-c", "-I.", *options, "default_lib0.c"]
    return run_compiler(command, cwd=folder).stderr


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
