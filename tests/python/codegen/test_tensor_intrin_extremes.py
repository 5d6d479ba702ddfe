"""Greater and lesser elements of two tensors against plain loops, on this host and on boards."""

from __future__ import annotations

import pytest

from support.tensor_intrinsic_programs import (
    HOST_OPTIONS,
    check_on_board,
    check_on_host,
    every_build,
)

CHECK = """
static void check_one(int32_t n, int32_t least) {
  /* The output may lie before the terms in one memory. */
  const int32_t overlap = between(0, 2), before = between(0, 5);
  int8_t first[60], second[60];
  int8_t* const memory = buffer(0, n + before, between(0, 3));
  int8_t* const other = buffer(1, n + before, between(0, 3));
  int8_t* const y = overlap == 1 ? memory : overlap == 2 ? other : buffer(2, n, between(0, 3));
  const int8_t* const a = memory + before;
  const int8_t* const b = other + before;
  fill(memory, n + before, between(0, 5)), fill(other, n + before, between(0, 5));
  memcpy(first, a, (size_t)n);
  memcpy(second, b, (size_t)n);
  tvmgen_extremes(a, b, y, n, least);
  for (int32_t i = 0; i < n; ++i) {
    const int32_t is_first = least ? first[i] < second[i] : first[i] > second[i];
    if (y[i] != (is_first ? first[i] : second[i])) failure = least ? "minimum" : "maximum";
  }
}
static void check(void) {
  for (int32_t i = 0; i < 4000; ++i) check_one(i % 50, i & 1);
}
"""


@pytest.mark.cc
@pytest.mark.parametrize("options", HOST_OPTIONS.values(), ids=HOST_OPTIONS)
def test_on_host(options, tmp_path):
    check_on_host(["extremes"], CHECK, options, tmp_path)


@pytest.mark.board
@every_build
def test_on_board(board, options, tmp_path):
    check_on_board(["extremes"], CHECK, board, options, tmp_path)
