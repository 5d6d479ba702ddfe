"""Programs that compare tensor intrinsics with plain loops, on this host and on boards."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

import pytest

from support.board_programs import require_board, run_program, small_model
from support.c_program import SANITIZERS
from support.compilers import require
from usmp.boards.board import Board, board_named
from usmp.boards.emulator import build_project
from usmp.boards.project import project_files
from usmp.codegen.c_files import text_of
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

MVE_HOST_OPTIONS = {
    name: options
    for name, options in HOST_OPTIONS.items()
    if name.endswith("-native") or name in ("gcc-sanitizers", "clang-sanitizers")
}
"""Of functions with bodies for MVE only, which are the same C for all hosts."""

_OPTIMIZED = ("-O2", "-Os", "-Og", "-O3 -fno-omit-frame-pointer")
_PORTABLE = ("-O2 -DTVMGEN_PORTABLE", "-O0")
"""By these, all cores compile the same C."""


def _builds(boards: Mapping[str, Sequence[str]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        ("board", "options"),
        [
            pytest.param(board_named(name), options, id=f"{name}{options.replace(' ', '')}")
            for name, all_options in boards.items()
            for options in all_options
        ],
    )


# Cortex-M7 and Cortex-M33 compile the C that Cortex-M4 does.
every_build = _builds(
    {
        "mps2-an385": _OPTIMIZED[:1],
        "mps2-an386": (*_OPTIMIZED, *_PORTABLE),
        "mps3-an547": _OPTIMIZED,
        "riscv32-virt": _OPTIMIZED[:1],
    }
)
"""Of functions with bodies for the DSP extension, some also for MVE: all options on boards that
have all bodies, the first on others."""

every_mve_build = _builds(
    {
        "mps2-an386": _OPTIMIZED[:1],
        "mps3-an547": (*_OPTIMIZED, *_PORTABLE),
        "riscv32-virt": _OPTIMIZED[:1],
    }
)
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
/* ONNX Runtime's product with the float of these bits, rounded to an integer, halves to the even
 * one; what is farther from 0 than all limits are stands for more. */
static int32_t rescaled_as_float(int32_t value, int32_t factor) {
  float by;
  memcpy(&by, &factor, sizeof(by));
  volatile float product = (float)value * by;
  if (product > 1000 || product < -1000) return product > 0 ? 1000 : -1000;
  volatile float moved = product + 12582912; /* 1.5 * 2^23: floats beside it are integers */
  return (int32_t)(moved - 12582912);
}
/* The bits of a float that makes up to ten bits of numbers as this one: a power of two, by which
 * halves are exact, or any. */
static int32_t random_float(int32_t number) {
  const int32_t reach = (number < 0 ? -number : number) + 8192;
  int32_t bits = 0;
  while (reach >> bits) ++bits;
  const int32_t exponent = between(1, 10) - bits;
  return (exponent + 126) << 23 | (between(0, 2) ? between(0, (1 << 23) - 1) : 0);
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


def check_on_host(
    names: Sequence[str], check: str, options: Sequence[str], directory: Path
) -> None:
    """Run a function `check`, which sets `failure` to a text if an intrinsic computes anything else
    than a plain loop.

    Parameters
    ----------
    names
        of the files of the intrinsics, without `tensor_intrin_` and their ending; they include the
        same files.
    options
        compiler and options.
    """
    require(options[0])
    (directory / "program.c").write_text(_program(names, check, _HOST))
    command = [*options, "-std=c99", *STRICT, "-o", "program", "program.c"]
    subprocess.run(command, cwd=directory, check=True)
    done = subprocess.run(["./program"], cwd=directory, capture_output=True, text=True, check=False)
    assert (done.stdout + done.stderr, done.returncode) == ("all agree\n", 0)


def check_on_board(
    names: Sequence[str], check: str, board: Board, options: str, directory: Path
) -> None:
    """The same on a board, by options of its compiler."""
    require_board(board)
    main = {"project/main.c": _program(names, check, _BOARD).encode()}
    write_files(_start_up(board) | main, directory)
    project = directory / "project"
    build_project(project, board, {"OPTIMIZATION": " ".join([options, *STRICT])})
    printed, _ = run_program(board, project)
    assert printed == "all agree"


@cache
def _start_up(board: Board) -> dict[str, bytes]:
    """The files of a project that any program of the board needs: those of any model without what
    measures and reports its runs."""
    unused = ("project/report", "project/measure")
    found = project_files(small_model(board).interface, board)
    return {path: content for path, content in found.items() if not path.startswith(unused)}


def _program(names: Sequence[str], check: str, platform: str) -> str:
    first, *others = [f"tensor_intrin_{name}.c" for name in names]
    include = f'#include "{files("usmp.codegen").joinpath("files", first)}"'
    return "\n".join([include, *map(text_of, others), platform, _COMMON, check, _MAIN])
