"""Programs that compare tensor intrinsics with plain loops, on this host and on boards."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

import pytest

import usmp
from support.board_programs import require_board, run_program
from support.c_program import SANITIZERS
from support.compilers import require
from support.relax_models import PARAMS, Attention
from usmp.boards.board import BOARDS, Board
from usmp.boards.emulator import build_project
from usmp.boards.project import project_files
from usmp.runtime.write_files import write_files

STRICT = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-Wno-unused-function"]

HOST_OPTIONS = {
    "gcc-sanitizers": ("gcc", *SANITIZERS),
    "gcc-without-vectors": ("gcc", *SANITIZERS, "-U__SSE2__"),
    "gcc-avx2-sanitizers": ("gcc", *SANITIZERS, "-mavx2"),
    "gcc-native": ("gcc", "-O3", "-march=native"),
    "clang-sanitizers": ("clang", *SANITIZERS),
    "clang-avx2": ("clang", "-O1", "-mavx2"),
    "clang-native": ("clang", "-O3", "-march=native"),
}
"""Without __SSE2__, the bodies are those for compilers that have no vectors."""

BOARD_OPTIONS = ("-O2", "-O2 -DTVMGEN_PORTABLE", "-O0", "-Os", "-Og", "-O3 -fno-omit-frame-pointer")


def _builds(*thorough: str) -> pytest.MarkDecorator:
    """All options on boards that have all bodies but the portable ones; the first on others."""
    return pytest.mark.parametrize(
        ("board", "options"),
        [
            pytest.param(board, options, id=f"{board.name}{options.replace(' ', '')}")
            for board in BOARDS
            for options in (BOARD_OPTIONS if board.name in thorough else BOARD_OPTIONS[:1])
        ],
    )


every_build = _builds("mps2-an386", "mps3-an547")
"""Of functions with bodies for the DSP extension, some also for MVE."""

every_mve_build = _builds("mps3-an547")
"""Of functions with bodies for MVE only."""

_COMMON = """
#include <string.h>
static const char* failure;
static uint32_t random_word(void) {
  static uint32_t state = 1;
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state;
}
static int32_t between(int32_t low, int32_t high) {
  return low + (int32_t)(random_word() % (uint32_t)(high - low + 1));
}
static int32_t clamped(int32_t value, int32_t low, int32_t high) {
  return value < low ? low : value > high ? high : value;
}
/* TFLite's multiplication by multiplier / 2^31 and a shift to the right, each rounded. */
static int32_t rescaled(int32_t value, int32_t multiplier, int32_t shift) {
  const int32_t high = (int32_t)(((int64_t)value * multiplier + (1 << 30)) >> 31);
  const int32_t mask = (int32_t)(((uint32_t)1 << shift) - 1);
  return (high >> shift) + ((high & mask) > (mask >> 1) + (high < 0));
}
/* The least, the largest, these two mixed, or any. */
static void fill(int8_t* bytes, int32_t size, int32_t kind) {
  for (int32_t i = 0; i < size; ++i) {
    const int32_t any = (int32_t)(random_word() >> 24) - 128;
    const int32_t extreme = kind == 0 || (kind == 2 && any < 0) ? -128 : 127;
    bytes[i] = (int8_t)(kind < 3 ? extreme : any);
  }
}
"""

_HOST = """
#include <stdio.h>
#include <stdlib.h>
/* Bytes of their own, with nothing to read behind them, `shift` bytes off alignment. */
static int8_t* buffer(int32_t which, int32_t size, int32_t shift) {
  static void* made[6];
  free(made[which]);
  made[which] = malloc((size_t)(size + shift));
  return (int8_t*)made[which] + shift;
}
static void print(const char* text) { puts(text); }
"""

_BOARD = """
#include "semihosting.h"
static int8_t* buffer(int32_t which, int32_t size, int32_t shift) {
  static int8_t made[6][20000] __attribute__((aligned(8)));
  (void)size;
  return made[which] + shift;
}
static void print(const char* text) { semihosting_print(text); }
"""

_MAIN = """
int main(void) {
  check();
  print(failure ? failure : "all agree");
  return 0;
}
"""


def check_on_host(file: str, check: str, options: Sequence[str], directory: Path) -> None:
    """Run a function `check`, which sets `failure` to a text if an intrinsic of that file computes
    anything else than a plain loop.

    Parameters
    ----------
    options
        compiler and options.
    """
    require(options[0])
    (directory / "program.c").write_text(_program(file, check, _HOST))
    command = [*options, "-std=c99", *STRICT, "-o", "program", "program.c"]
    subprocess.run(command, cwd=directory, check=True)
    done = subprocess.run(["./program"], cwd=directory, capture_output=True, text=True, check=False)
    assert (done.stdout + done.stderr, done.returncode) == ("all agree\n", 0)


def check_on_board(file: str, check: str, board: Board, options: str, directory: Path) -> None:
    """The same on a board, by options of its compiler."""
    require_board(board)
    main = {"project/main.c": _program(file, check, _BOARD).encode()}
    write_files(project_files(_interface(board), board) | main, directory)
    project = directory / "project"
    build_project(project, board, {"OPTIMIZATION": " ".join([options, *STRICT])})
    printed, _ = run_program(board, project)
    assert printed == "all agree"


@cache
def _interface(board: Board):
    """Of any model: a project is made for one."""
    return usmp.build(Attention, params=PARAMS, board=board).interface


def _program(file: str, check: str, platform: str) -> str:
    path = files("usmp.codegen").joinpath("files", file)
    return "\n".join([f'#include "{path}"', platform, _COMMON, check, _MAIN])
