"""Dot products of tiles against plain loops, by every body, on this host and on boards."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from support.tensor_intrinsic_programs import (
    HOST_OPTIONS,
    check_on_board,
    check_on_host,
    every_build,
)

TILES = [(1, 1), (1, 2), (1, 4), (1, 6), (2, 1), (2, 2), (4, 1)]

CHECK = """
typedef void dot(const int8_t*, int32_t, const int8_t*, int32_t, int32_t, int32_t, int32_t*);
static void check_dot(dot* function, const int32_t pixels, const int32_t channels, const int32_t xd,
                      const int32_t wd, const int32_t n, const char* name) {
  static const int32_t offsets[] = {-127, 128, 0, 5};
  for (int32_t kind = 0; kind < 16; ++kind) {
    const int32_t x_size = (pixels - 1) * xd + n, w_size = (channels - 1) * wd + n;
    int8_t* const x = buffer(0, x_size, kind & 3);
    int8_t* const w = buffer(1, w_size, kind >> 2);
    int32_t expected[6], actual[6];
    fill(x, x_size, kind & 3);
    fill(w, w_size, kind >> 2);
    for (int32_t i = 0; i < pixels * channels; ++i) {
      actual[i] = expected[i] = (int32_t)random_word() >> 4;
      const int32_t p = i / channels, c = i % channels;
      for (int32_t k = 0; k < n; ++k) {
        expected[i] += (x[p * xd + k] + offsets[kind & 3]) * w[c * wd + k];
      }
    }
    function(x, xd, w, wd, n, offsets[kind & 3], actual);
    for (int32_t i = 0; i < pixels * channels; ++i) {
      if (actual[i] != expected[i]) failure = name;
    }
  }
}
"""

CASE = """
static void dot_%(name)s(const int8_t* x, int32_t x_distance, const int8_t* w, int32_t w_distance,
                         int32_t n, int32_t offset, int32_t* sums) {
  (void)x_distance, (void)w_distance, (void)n;
  tvmgen_dot_%(p)sx%(c)s(x, %(xd)s, w, %(wd)s, %(n)s, offset, sums);
}
"""
"""Of its own, so that no compiler knows more than what is known here."""

KNOWN = """
static __attribute__((noinline)) void dot_known_%(p)sx%(c)s(void) {
  /* What sums begin with is what is added to the data: they may not share a register. */
  int8_t* const x = buffer(0, 100, 0);
  int8_t* const w = buffer(1, 100, 0);
  int32_t expected[%(sums)s] = {0}, actual[%(sums)s] = {0};
  fill(x, 100, 3);
  fill(w, 100, 3);
  for (int32_t i = 0; i < %(sums)s; ++i) {
    for (int32_t k = 0; k < 4; ++k) {
      expected[i] += x[i / %(c)s * 16 + k] * w[i %% %(c)s * 16 + k];
    }
  }
  tvmgen_dot_%(p)sx%(c)s(x, 16, w, 16, 4, 0, actual);
  for (int32_t i = 0; i < %(sums)s; ++i) {
    if (actual[i] != expected[i]) failure = "dot_known_%(p)sx%(c)s";
  }
}
"""

SIZES = (*range(25), 40, 64, 100)
FEW_SIZES = (0, 3, 22, 40)
DISTANCES = [
    ("64", "40", SIZES),
    ("x_distance", "w_distance", SIZES),
    ("x_distance", "x_distance", SIZES),
    ("4200", "27", FEW_SIZES),
    ("9", "4200", FEW_SIZES),
]
"""Of pixels and channels, constants and not: those that a load has room for, and larger ones."""

CONSTANT_SIZES = (9, 64)


def cases(distances: Sequence[tuple[str, str, Sequence[int]]]) -> str:
    """A function `check` of all tiles."""
    functions = [CHECK]
    calls = []
    known = {"x_distance": 50, "w_distance": 41}
    for p, c in TILES:
        variants = [(xd, wd, "n", sizes) for xd, wd, sizes in distances]
        variants += [("64", "64", str(n), (n,)) for n in CONSTANT_SIZES]
        for number, (xd, wd, n, sizes) in enumerate(variants):
            name = f"{p}x{c}_{number}"
            functions.append(CASE % {"p": p, "c": c, "xd": xd, "wd": wd, "n": n, "name": name})
            tile = f"{p}, {c}, {known.get(xd, xd)}, {known.get(wd, wd)}"
            calls += [f'  check_dot(dot_{name}, {tile}, {size}, "dot_{name}");' for size in sizes]
        functions.append(KNOWN % {"p": p, "c": c, "sums": p * c})
        calls.append(f"  dot_known_{p}x{c}();")
    return "\n".join([*functions, "static void check(void) {", *calls, "}"])


@pytest.mark.cc
@pytest.mark.parametrize("options", HOST_OPTIONS.values(), ids=HOST_OPTIONS)
def test_on_host(options, tmp_path):
    # No body for hosts depends on which distances are constants.
    check_on_host(["dot"], cases(DISTANCES[:2]), options, tmp_path)


@pytest.mark.board
@every_build
def test_on_board(board, options, tmp_path):
    check_on_board(["dot"], cases(DISTANCES), board, options, tmp_path)
