"""What docs/profiling.md shows: its commands and its Python run, its C compiles for Cortex-M."""

from __future__ import annotations

import re
import subprocess

import pytest
from tvm.ir.transform import PassContext

import usmp
from conftest import ROOT
from support.board_programs import require_board
from support.compilers import require, run_compiler
from support.python_here import run_python
from support.small_digits import small_digits
from usmp.boards.board import board_named
from usmp.driver.tvmc import main
from usmp.frontend.tflite.importer import import_tflite

pytestmark = pytest.mark.usefixtures("one_session")

PAGE = (ROOT / "docs/profiling.md").read_text()
CORES = ("cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55")


def block(language):
    (text,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    return text


@pytest.mark.slow
@pytest.mark.board
def test_commands(tmp_path, monkeypatch, digits_model, capfd):
    require_board(board_named("mps2-an385"))
    monkeypatch.chdir(tmp_path)
    model = tmp_path / "model.tflite"
    model.write_bytes(small_digits())
    commands = re.findall(r"^    tvmc (.*)$", PAGE, re.MULTILINE)
    assert len(commands) == 4
    for command in commands:
        if "board.tar" in command and model.read_bytes() != digits_model.read_bytes():
            # What the page shows of its operators is the same on the host and on the board.
            model.write_bytes(digits_model.read_bytes())
        assert main(command.split()) == 0, capfd.readouterr().err
    shown = block("text").splitlines()
    printed = [line.split() for line in capfd.readouterr().out.splitlines()]
    # Times differ, and so do instructions from one compiler to another.
    for row in (line.split()[:6] for line in shown if line.strip()):
        assert row in [line[:6] for line in printed]
    assert (tmp_path / "profile.json").exists()


@pytest.mark.slow
@pytest.mark.cc
def test_the_python_runs(tmp_path):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    lines = run_python(block("python"), tmp_path).splitlines()
    assert len(lines) == 6
    assert lines[2].startswith("('conv2d3_to_max_pool',) ('conv2d 3x3', 'max_pool 2x2 s2') 294912 ")
    assert lines[2].endswith(" ns")


@pytest.fixture(scope="module")
def profiled() -> usmp.AOTExecutorFactoryModule:
    with PassContext(config={"tir.usmp.debug": ["profile"]}):
        return usmp.build(import_tflite(small_digits()))


@pytest.mark.board
@pytest.mark.parametrize("core", CORES)
def test_the_hooks_compile(tmp_path, profiled, core):
    compiler = "arm-none-eabi-gcc"
    require(compiler)
    (tmp_path / "tvmgen_default.h").write_text(profiled.header)
    (tmp_path / "model.c").write_text(profiled.source)
    (tmp_path / "hooks.c").write_text(block("c"))
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O2", "-mthumb"]
    command = [compiler, f"-mcpu={core}", *strict, "-r", "-nostdlib", "hooks.c", "model.c"]
    run_compiler([*command, "-o", "both.o"], cwd=tmp_path)
    nm = subprocess.run(
        ["arm-none-eabi-nm", "both.o"], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    kinds = {line.split()[-1]: line.split()[-2] for line in nm.stdout.splitlines()}
    # Strong, not weak: the application's have taken their place.
    assert kinds["tvmgen_default_operator_begin"] == "T"
    assert kinds["tvmgen_default_operator_end"] == "T"
