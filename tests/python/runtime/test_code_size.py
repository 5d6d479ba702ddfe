"""The compiled size of an archive's code."""

from __future__ import annotations

import subprocess

import pytest

import usmp
from support.compilers import require, run_compiler
from support.relax_models import PARAMS, Attention
from support.small_digits import small_digits
from usmp.boards.core_compilers import core_compiler, module_compiler
from usmp.frontend.tflite.importer import import_tflite
from usmp.runtime import BuildError, load_archive
from usmp.runtime.code_size import CrossCompiler, compiled_code
from usmp.runtime.host import HostModule
from usmp.runtime.object_file import has_float_registers


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    path = tmp_path_factory.mktemp("code") / "m4.tar"
    built = usmp.build(import_tflite(small_digits(classes=200)), "c -mcpu=cortex-m4")
    built.export_model_library_format(path)
    return load_archive(path)


def compiled(archive, cross=None):
    return compiled_code(archive.code(), archive.module().metadata, cross)


@pytest.mark.cc
def test_the_parts_are_no_more_than_the_whole(archive):
    code = compiled(archive)
    assert set(code.functions) >= {"fully_connected", "softmax"}
    assert all(code.functions.values())
    # The function that calls them is not one of them, and alignment costs bytes.
    assert 0.5 * code.size_bytes < sum(code.functions.values()) < code.size_bytes
    assert not code.has_library
    assert code.stack_size_bytes is None
    constants = sum(pool.size_bytes for pool in archive.module().pools if pool.is_constant)
    assert code.size_bytes < constants, "constant pools are counted too"


@pytest.mark.cc
def test_nothing_of_it_runs(archive, monkeypatch):
    def refuse(*_):
        raise AssertionError("code is loaded")

    monkeypatch.setattr(HostModule, "__init__", refuse)
    assert compiled(archive).size_bytes > 0


@pytest.mark.board
def test_bare_metal_code_has_what_it_calls_and_a_stack(archive):
    require("arm-none-eabi-gcc")
    module = archive.module()
    cross = module_compiler(module.metadata)
    assert cross == core_compiler("cortex-m4")
    assert cross.flags[0] == "-mcpu=cortex-m4"
    code = compiled(archive, cross)
    own = sum(code.functions.values())
    assert own < code.size_bytes < own + 4000
    assert code.has_library
    assert 0 < code.stack_size_bytes < 1000
    assert code.variables_size_bytes == 0


@pytest.mark.board
@pytest.mark.parametrize("core", ["cortex-m0", "cortex-m55"])
def test_the_size_is_that_of_a_program(archive, tmp_path, core):
    require("arm-none-eabi-gcc")
    cross = core_compiler(core)
    code = compiled(archive, cross)
    for name, content in archive.code().items():
        (tmp_path / name.rpartition("/")[2]).write_bytes(content)
    flags = ["-O2", "-std=c99", "-w", "-nostartfiles", "-Wl,--entry=0", "-Wl,--no-gc-sections"]
    command = [cross.program, *cross.flags, *flags, "default_lib0.c", "-lm", "-o", "a.elf"]
    run_compiler(command, cwd=tmp_path)
    printed = subprocess.run(
        ["arm-none-eabi-size", "-A", "a.elf"],
        check=True,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    sizes = {
        words[0]: int(words[1])
        for line in printed.stdout.splitlines()[2:-3]
        if (words := line.split())
    }
    constants = sum(pool.size_bytes for pool in archive.module().pools if pool.is_constant)
    stored = (".text", ".rodata", ".data", ".ARM.exidx", ".init_array", ".fini_array")
    assert code.size_bytes == sum(sizes.get(name, 0) for name in stored) - constants


@pytest.mark.board
def test_the_first_error_of_a_compiler_is_the_reason(archive):
    require("riscv64-unknown-elf-gcc")
    wrong = CrossCompiler("riscv64-unknown-elf-gcc", ("-mcpu=cortex-m4",))
    with pytest.raises(BuildError, match=r"riscv64-unknown-elf-gcc reports an error: .*cortex-m4"):
        compiled(archive, wrong)


@pytest.mark.cc
def test_a_compiler_that_is_not_there(archive):
    with pytest.raises(BuildError, match=r"^no-gcc is not installed$"):
        compiled(archive, CrossCompiler("no-gcc", ()))


@pytest.mark.cc
def test_a_compiler_that_writes_something_else(archive, tmp_path, monkeypatch):
    script = tmp_path / "cc"
    script.write_text('#!/bin/sh\nfor last; do :; done\nprintf "nothing" > "$last"\n')
    script.chmod(0o755)
    monkeypatch.setenv("CC", str(script))
    with pytest.raises(BuildError, match="wrote no ELF file"):
        compiled(archive)


@pytest.fixture(scope="module")
def llvm_archive(tmp_path_factory):
    path = tmp_path_factory.mktemp("code") / "llvm.tar"
    target = "llvm -mtriple=thumbv7em-none-eabi -mcpu=cortex-m4 -mfloat-abi=hard"
    usmp.build(Attention, target, params=PARAMS).export_model_library_format(path)
    return load_archive(path)


@pytest.mark.board
def test_objects_with_floats_in_registers_are_linked(llvm_archive):
    require("arm-none-eabi-gcc")
    code = compiled(llvm_archive, core_compiler("cortex-m4"))
    target = "-mtriple=thumbv7em-none-eabi -mcpu=cortex-m4 -mfloat-abi=hard"
    assert (code.compiler, code.not_linked) == (f"LLVM {target}", None)
    # All is in one function.
    assert code.functions == {}
    assert code.stack_size_bytes is None


@pytest.mark.slow
@pytest.mark.board
def test_no_error_names_a_temporary_file(llvm_archive):
    require("arm-none-eabi-gcc")
    with pytest.raises(BuildError, match=r"VFP register arguments") as error:
        compiled(llvm_archive, core_compiler("cortex-m0"))
    assert "the C does not" in str(error.value)


@pytest.mark.cc
def test_a_damaged_object_file(llvm_archive):
    files = llvm_archive.code()
    (name,) = (name for name in files if name.endswith(".o"))
    metadata = llvm_archive.module().metadata
    content = files[name]
    assert has_float_registers(content)
    # Cut before the attributes, and before the header of the file ends.
    for length in (len(content) - 1000, 20):
        assert not has_float_registers(content[:length])
    with pytest.raises(BuildError, match="wrote no ELF file"):
        compiled_code({**files, name: content[:-1000]}, metadata)
