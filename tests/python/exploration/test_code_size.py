"""How many bytes code takes: as the tools of the compiler say."""

from __future__ import annotations

import subprocess

import pytest

import usmp
from conftest import ROOT
from support.compilers import require
from usmp.exploration import code_size as module
from usmp.exploration.code_size import code_size
from usmp.exploration.result import COMPILED, ESTIMATED, UNKNOWN


@pytest.fixture(scope="module")
def digits():
    return usmp.import_model(ROOT / "examples/digits/digits_int8.tflite")


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch):
    monkeypatch.setattr(module, "_known", {})
    module._version.cache_clear()
    yield
    module._version.cache_clear()


@pytest.mark.board
@pytest.mark.parametrize(
    ("target", "board", "flags"),
    [
        ("c -mcpu=cortex-m4", None, ["-mcpu=cortex-m4", "-mfloat-abi=softfp"]),
        ("c", "mps3-an547", ["-mcpu=cortex-m55", "-mfloat-abi=hard"]),
    ],
)
def test_for_a_core(digits, tmp_path, target, board, flags):
    require("arm-none-eabi-gcc")
    factory = usmp.build(digits, target, board=board)
    size, kind, compiler = code_size(factory)
    (tmp_path / "tvmgen_default.h").write_text(factory.header)
    (tmp_path / "lib.c").write_text(factory.source)
    subprocess.run(
        ["arm-none-eabi-gcc", "-mthumb", *flags, "-std=c99", "-O2", "-c", "lib.c"],
        check=True,
        cwd=tmp_path,
    )
    printed = subprocess.run(
        ["arm-none-eabi-size", "lib.o"], check=True, cwd=tmp_path, capture_output=True, text=True
    )
    text, data, *_ = map(int, printed.stdout.splitlines()[1].split()[:3])
    memory = factory.metadata["modules"]["default"]["memory"]
    constants = sum(p["size_bytes"] for p in memory["pools"] if p["kind"] == "constant")
    assert constants >= 27112
    assert size == text + data - constants
    assert size > 5000
    assert kind == COMPILED
    assert compiler.startswith("arm-none-eabi-gcc 1")


@pytest.mark.cc
def test_of_a_host(digits, monkeypatch):
    require("cc")
    factory = usmp.build(digits)
    size, kind, compiler = code_size(factory)
    assert (kind, compiler.split()[0]) == (ESTIMATED, "cc")
    assert 5000 < size < 100_000
    monkeypatch.setenv("CC", "no-such-compiler")
    assert code_size(factory) == (None, UNKNOWN, None)
    monkeypatch.setenv("CC", "false")
    assert code_size(factory) == (None, UNKNOWN, None)


def test_of_llvm(digits):
    factory = usmp.build(digits, "llvm -mtriple=thumbv7m-none-eabi -mcpu=cortex-m3")
    size, kind, compiler = code_size(factory)
    assert (kind, compiler) == (COMPILED, "LLVM")
    assert 5000 < size < 100_000
