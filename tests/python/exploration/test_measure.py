"""The bytes of code of a built model: those that `tvmc diff` and `tvmc check` count."""

from __future__ import annotations

from io import BytesIO

import pytest
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

import usmp
from support.compilers import require
from support.levels import sample
from support.relax_models import two_convolutions
from support.small_digits import small_digits
from usmp.boards.core_compilers import module_compiler
from usmp.exploration import measure as module
from usmp.exploration.measure import measure
from usmp.exploration.result import COMPILED, ESTIMATED, NOT_LINKED, UNKNOWN
from usmp.frontend.tflite.importer import import_tflite
from usmp.runtime import load_archive
from usmp.runtime.code_size import compiled_code


@pytest.fixture(scope="module")
def digits():
    """A model of two operators."""
    return import_tflite(small_digits())


@pytest.fixture(scope="module")
def of_host(digits):
    return usmp.build(digits)


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch):
    monkeypatch.setattr(module, "_known", {})
    module._version.cache_clear()
    yield
    module._version.cache_clear()


def code_of(factory):
    result = measure(factory)
    return result.code_bytes, result.code, result.compiler


def size_of_archive(factory, path):
    factory.export_model_library_format(path)
    archive = load_archive(path)
    metadata = archive.module().metadata
    return compiled_code(archive.code(), metadata, module_compiler(metadata)).size_bytes


@pytest.mark.slow
@pytest.mark.board
@pytest.mark.parametrize(
    ("target", "board"), [("c -mcpu=cortex-m4", None), ("c", "mps3-an547")], ids=["core", "board"]
)
def test_for_a_core(digits, tmp_path, target, board):
    require("arm-none-eabi-gcc")
    factory = usmp.build(digits, target, board=board)
    size, kind, compiler = code_of(factory)
    assert size == size_of_archive(factory, tmp_path / "model.tar")
    assert 1000 < size < 5000
    assert kind == COMPILED
    assert compiler.startswith("arm-none-eabi-gcc 1")
    assert compiler.endswith(", -O2")


@pytest.mark.cc
def test_of_a_host(of_host, tmp_path, monkeypatch):
    require("cc")
    factory = of_host
    size, kind, compiler = code_of(factory)
    assert (kind, compiler.split()[0]) == (ESTIMATED, "cc")
    assert size == size_of_archive(factory, tmp_path / "model.tar")
    assert 1000 < size < 5000
    for program, reason in (
        ("no-such-compiler", "no-such-compiler is not installed"),
        ("false", "false reports an error: no message"),
    ):
        monkeypatch.setenv("CC", program)
        assert code_of(factory) == (None, UNKNOWN, None)
        assert measure(factory).code_reason == reason


@pytest.mark.slow
@pytest.mark.cc
def test_what_is_compiled_is_compiled_once(of_host, monkeypatch):
    require("cc")
    compiled = []

    def counted(files, metadata, cross):
        compiled.append(cross)
        return compiled_code(files, metadata, cross)

    monkeypatch.setattr(module, "compiled_code", counted)
    assert code_of(of_host) == code_of(of_host)
    assert compiled == [None]


@pytest.mark.slow
@pytest.mark.board
@pytest.mark.parametrize(
    "options",
    sample(
        [
            "-mtriple=thumbv7m-none-eabi -mcpu=cortex-m3",
            "-mtriple=thumbv7em-none-eabi -mcpu=cortex-m4",
        ],
        1,
    ),
)
def test_of_llvm(tmp_path, options):
    require("arm-none-eabi-gcc")
    factory = usmp.build(two_convolutions(), f"llvm {options}")
    size, kind, compiler = code_of(factory)
    assert (kind, compiler) == (COMPILED, f"LLVM {options}")
    assert size == size_of_archive(factory, tmp_path / "model.tar")
    # What it is linked with is small.
    assert 0 < size - sections(factory) < 2000


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize(
    ("options", "machine"),
    sample(
        [("-mtriple=aarch64-linux-gnu", "64-bit AArch64"), ("-mtriple=riscv32", "32-bit RISC-V")], 1
    ),
)
def test_of_llvm_for_another_machine(options, machine):
    require("cc")
    factory = usmp.build(two_convolutions(), f"llvm {options}")
    assert code_of(factory) == (sections(factory), NOT_LINKED, f"LLVM {options}")
    reason = measure(factory).code_reason
    assert reason.startswith(f"the archive has machine code for {machine}, and cc links that for ")


@pytest.mark.slow
def test_of_llvm_without_a_compiler(monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    factory = usmp.build(two_convolutions(), "llvm")
    size, kind, compiler = code_of(factory)
    assert (size, kind) == (sections(factory), NOT_LINKED)
    assert compiler.startswith("LLVM -mtriple=")
    assert measure(factory).code_reason == "no-such-compiler is not installed"


def sections(factory):
    """The bytes that the object file has for flash."""
    (content,) = (content for name, content in factory.files().items() if name.endswith(".o"))
    return sum(
        section["sh_size"]
        for section in ELFFile(BytesIO(content)).iter_sections()
        if section["sh_flags"] & SH_FLAGS.SHF_ALLOC
        and section["sh_type"] != "SHT_NOBITS"
        and section.name != ".eh_frame"
    )
