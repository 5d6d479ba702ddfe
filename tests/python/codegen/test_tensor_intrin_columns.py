"""Products of a row by columns against plain loops, on this host and on boards."""

from __future__ import annotations

import pytest

from support.tensor_intrinsic_programs import (
    HOST_OPTIONS,
    check_on_board,
    check_on_host,
    every_build,
)

CASE = """
static void columns_%(name)s(const int32_t n, const int32_t distance) {
  static const int32_t offsets[] = {-127, 128, 0, 5};
  for (int32_t kind = 0; kind < 16; ++kind) {
    const int32_t size = n ? (n - 1) * distance + %(c)s : 0;
    int8_t* const x = buffer(0, n, kind & 3);
    int8_t* const y = buffer(1, size, kind >> 2);
    int32_t expected[%(c)s], actual[%(c)s];
    fill(x, n, kind & 3);
    fill(y, size, kind >> 2);
    for (int32_t c = 0; c < %(c)s; ++c) {
      actual[c] = expected[c] = (int32_t)random_word() >> 4;
      for (int32_t k = 0; k < n; ++k) {
        expected[c] += (x[k] + offsets[kind & 3]) * y[k * distance + c];
      }
    }
    tvmgen_columns_%(c)s(x, y, %(d)s, %(n)s, offsets[kind & 3], actual);
    for (int32_t c = 0; c < %(c)s; ++c) {
      if (actual[c] != expected[c]) failure = "columns_%(name)s";
    }
  }
}
"""

TILES = (1, 4)
CONSTANT = ((3, 4), (8, 9), (21, 64), (64, 256), (9, 1900), (5, 5), (64, 64), (9, 8100), (5, 4100))
"""Numbers of rows and distances that a compiler knows; the last one is too many for offsets of 16
bits. One may be the same as the other, and as what sums begin with."""

CHECK = "".join(
    [
        *(CASE % {"c": c, "name": c, "n": "n", "d": "distance"} for c in TILES),
        *(CASE % {"c": 4, "name": f"4_{n}_{d}", "n": n, "d": d} for n, d in CONSTANT),
        "static void check(void) {\n  for (int32_t n = 0; n < 35; ++n) {\n",
        *(f"    columns_{c}(n, {c});\n    columns_{c}(n, 50);\n" for c in TILES),
        "  }\n",
        *(f"  columns_4_{n}_{d}({n}, {d});\n" for n, d in CONSTANT),
        "}\n",
    ]
)


@pytest.mark.cc
@pytest.mark.parametrize("options", HOST_OPTIONS.values(), ids=HOST_OPTIONS)
def test_on_host(options, tmp_path):
    check_on_host("tensor_intrin_columns.c", CHECK, options, tmp_path)


@pytest.mark.board
@every_build
def test_on_board(board, options, tmp_path):
    check_on_board("tensor_intrin_columns.c", CHECK, board, options, tmp_path)
