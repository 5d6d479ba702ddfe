"""The bytes of code of a built model: those that `tvmc diff` and `tvmc check` count."""

from __future__ import annotations

import pytest

import usmp
from conftest import ROOT
from support.compilers import require
from usmp.boards.core_compilers import module_compiler
from usmp.exploration import measure as module
from usmp.exploration.measure import measure
from usmp.exploration.result import COMPILED, ESTIMATED, UNKNOWN
from usmp.runtime import load_archive
from usmp.runtime.code_size import compiled_code


@pytest.fixture(scope="module")
def digits():
    return usmp.import_model(ROOT / "examples/digits/digits_int8.tflite")


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


@pytest.mark.board
@pytest.mark.parametrize(
    ("target", "board"), [("c -mcpu=cortex-m4", None), ("c", "mps3-an547")], ids=["core", "board"]
)
def test_for_a_core(digits, tmp_path, target, board):
    require("arm-none-eabi-gcc")
    factory = usmp.build(digits, target, board=board)
    size, kind, compiler = code_of(factory)
    assert size == size_of_archive(factory, tmp_path / "model.tar")
    assert 5000 < size < 20_000
    assert kind == COMPILED
    assert compiler.startswith("arm-none-eabi-gcc 1")
    assert compiler.endswith(", -O2")


@pytest.mark.cc
def test_of_a_host(digits, tmp_path, monkeypatch):
    require("cc")
    factory = usmp.build(digits)
    size, kind, compiler = code_of(factory)
    assert (kind, compiler.split()[0]) == (ESTIMATED, "cc")
    assert size == size_of_archive(factory, tmp_path / "model.tar")
    assert 5000 < size < 100_000
    monkeypatch.setenv("CC", "no-such-compiler")
    assert code_of(factory) == (None, UNKNOWN, None)
    monkeypatch.setenv("CC", "false")
    assert code_of(factory) == (None, UNKNOWN, None)


@pytest.mark.cc
def test_what_is_compiled_is_compiled_once(digits, monkeypatch):
    require("cc")
    compiled = []

    def counted(files, metadata, cross):
        compiled.append(cross)
        return compiled_code(files, metadata, cross)

    monkeypatch.setattr(module, "compiled_code", counted)
    factory = usmp.build(digits)
    assert code_of(factory) == code_of(factory)
    assert compiled == [None]


@pytest.mark.board
def test_of_llvm(digits, tmp_path):
    require("arm-none-eabi-gcc")
    factory = usmp.build(digits, "llvm -mtriple=thumbv7m-none-eabi -mcpu=cortex-m3")
    size, kind, compiler = code_of(factory)
    assert (kind, compiler) == (COMPILED, "LLVM")
    assert size == size_of_archive(factory, tmp_path / "model.tar")
    assert 5000 < size < 100_000
