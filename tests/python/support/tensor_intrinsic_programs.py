"""Programs that compare tensor intrinsics with plain loops, on this host and on boards."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from support.board_programs import require_board, run_program, small_model
from support.compilers import require, run_compiler
from support.intrinsic_checks import (
    columns,
    copy,
    depthwise,
    dot,
    extremes,
    multiply_as_float,
    mve_add_pixels,
    mve_conv2d,
    mve_conv2d_taps,
    mve_depthwise_row,
    mve_elementwise,
    mve_sums,
    mve_window,
    pool,
    rescale,
    rescale_tiles,
    weights_sum,
    window,
)
from usmp.boards.board import Board
from usmp.boards.emulator import build_project
from usmp.boards.project import project_files
from usmp.codegen.c.source_files import text_of, with_included
from usmp.runtime.write_files import write_files

_STRICT = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-Wno-unused-function"]
_MODULES = [
    *(columns, copy, depthwise, dot, extremes, mve_add_pixels, mve_conv2d, mve_conv2d_taps),
    *(mve_depthwise_row, mve_elementwise, mve_sums, mve_window, pool, rescale, rescale_tiles),
    *(weights_sum, window),
    # Last, because it defines TVMGEN_PORTABLE.
    multiply_as_float,
]
_FILES = list(dict.fromkeys(file for module in _MODULES for file in module.FILES))

Results = dict[str, str]
"""Name of a check -> "agrees", or what does not."""

CHECKS = {module.__name__.rpartition(".")[2]: module.CHECK for module in _MODULES}
"""Name -> C, of all functions and all their bodies."""

CHECKS_OF_C = CHECKS | {"dot": dot.CHECK_OF_C}
"""For what compiles portable C."""

WITHOUT_MVE = {name: check for name, check in CHECKS.items() if not name.startswith("mve_")}
"""Others than functions with bodies for MVE only, which are the same C for all other cores."""

_HEADERS = """
#include <math.h>
#include <stdint.h>
#include <string.h>
"""

_COMMON = """
static const char* failure;
static uint32_t random_state;
static uint32_t random_word(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 17;
  random_state ^= random_state << 5;
  return random_state;
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
static void print(const char* text) { fputs(text, stdout); }
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
static void run(void (*test)(void), const char* name) {
  failure = "agrees";
  random_state = 1;
  test();
  print(name);
  print(": ");
  print(failure);
  print("\\n");
}
int main(void) {
%s
  return 0;
}
"""


def results_on_host(options: Sequence[str], checks: Mapping[str, str], directory: Path) -> Results:
    """Compile checks by a compiler and its options; name of each -> "agrees", or what does not."""
    require(options[0])
    (directory / "program.c").write_text(_program(checks, _HOST))
    command = [*options, "-std=c99", *_STRICT, "-o", "program", "program.c"]
    run_compiler(command, cwd=directory)
    done = subprocess.run(["./program"], cwd=directory, capture_output=True, text=True, check=False)
    assert (done.stderr, done.returncode) == ("", 0)
    return _results(done.stdout)


def results_on_board(
    board: Board, options: str, checks: Mapping[str, str], directory: Path
) -> Results:
    """Return the same of a board, by options of its compiler."""
    require_board(board)
    main = {"project/main.c": _program(checks, _BOARD).encode()}
    write_files(_start_up(board) | main, directory)
    project = directory / "project"
    build_project(project, board, {"OPTIMIZATION": " ".join([options, *_STRICT])})
    printed, _ = run_program(board, project)
    return _results(printed)


def _results(printed: str) -> Results:
    return dict(line.split(": ", 1) for line in printed.splitlines())


@cache
def _start_up(board: Board) -> dict[str, bytes]:
    """The files of a project that any program of the board needs: those of any model without what
    measures and reports its runs."""
    unused = ("project/report", "project/measure")
    found = project_files(small_model(board).interface, board)
    return {path: content for path, content in found.items() if not path.startswith(unused)}


def _program(checks: Mapping[str, str], platform: str) -> str:
    calls = "\n".join(f'  run(test_{name}, "{name}");' for name in checks)
    intrinsics = map(text_of, with_included(_FILES))
    return "\n".join([_HEADERS, *intrinsics, platform, _COMMON, *checks.values(), _MAIN % calls])
