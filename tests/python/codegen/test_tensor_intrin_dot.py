"""Dot products of tiles against plain loops, by every body, on this host and on boards."""

from __future__ import annotations

import pytest

from support.tensor_intrinsic_programs import (
    HOST_OPTIONS,
    check_on_board,
    check_on_host,
    every_build,
)

TILES = [(1, 1), (1, 2), (1, 4), (1, 6), (2, 1), (2, 2), (4, 1)]

CASE = """
static __attribute__((noinline)) void dot_%(name)s(const int32_t n) {
  static const int32_t offsets[] = {-127, 128, 0, 5};
  for (int32_t kind = 0; kind < 16; ++kind) {
    const int32_t x_size = %(x_last)s * %(xd)s + n, w_size = %(w_last)s * %(wd)s + n;
    int8_t* const x = buffer(0, x_size, kind & 3);
    int8_t* const w = buffer(1, w_size, kind >> 2);
    int32_t expected[%(sums)s], actual[%(sums)s];
    fill(x, x_size, kind & 3);
    fill(w, w_size, kind >> 2);
    for (int32_t i = 0; i < %(sums)s; ++i) {
      actual[i] = expected[i] = (int32_t)random_word() >> 4;
      const int32_t p = i / %(c)s, c = i %% %(c)s;
      for (int32_t k = 0; k < n; ++k) {
        expected[i] += (x[p * %(xd)s + k] + offsets[kind & 3]) * w[c * %(wd)s + k];
      }
    }
    tvmgen_dot_%(p)sx%(c)s(x, %(xd)s, w, %(wd)s, %(n)s, offsets[kind & 3], actual);
    for (int32_t i = 0; i < %(sums)s; ++i) {
      if (actual[i] != expected[i]) failure = "dot_%(name)s";
    }
  }
}
"""

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


def cases() -> str:
    """A function `check` of all tiles."""
    functions = ["static volatile int32_t x_known = 50, w_known = 41;"]
    calls = []
    for p, c in TILES:
        variants = [(xd, wd, "n", sizes) for xd, wd, sizes in DISTANCES]
        variants += [("64", "64", str(n), (n,)) for n in CONSTANT_SIZES]
        for number, (xd, wd, n, sizes) in enumerate(variants):
            function = f"{p}x{c}_{number}"
            values = {"p": p, "c": c, "sums": p * c, "x_last": p - 1, "w_last": c - 1}
            text = CASE % {**values, "xd": xd, "wd": wd, "n": n, "name": function}
            known = "".join(
                f"  const int32_t {name} = {name[0]}_known;\n"
                for name in ("x_distance", "w_distance")
                if name in (xd, wd)
            )
            first = "  static const int32_t offsets"
            functions.append(text.replace(first, known + first))
            calls += [f"  dot_{function}({size});" for size in sizes]
        functions.append(KNOWN % {"p": p, "c": c, "sums": p * c})
        calls.append(f"  dot_known_{p}x{c}();")
    return "\n".join([*functions, "static void check(void) {", *calls, "}"])


@pytest.mark.cc
@pytest.mark.parametrize("options", HOST_OPTIONS.values(), ids=HOST_OPTIONS)
def test_on_host(options, tmp_path):
    check_on_host("tensor_intrin_dot.c", cases(), options, tmp_path)


@pytest.mark.board
@every_build
def test_on_board(board, options, tmp_path):
    check_on_board("tensor_intrin_dot.c", cases(), board, options, tmp_path)
