"""Sums and maxima of pixels against plain loops, on this host and on boards."""

from __future__ import annotations

import pytest

from support.tensor_intrinsic_programs import (
    HOST_OPTIONS,
    check_on_board,
    check_on_host,
    every_build,
)

CHECK = """
static void check_one(int32_t distance, int32_t n, int32_t kind) {
  const int32_t size = n ? (n - 1) * distance + 4 : 0;
  int8_t* const x = buffer(0, size, kind & 3);
  int32_t sums[4], maxima[4], expected_sums[4], expected_maxima[4];
  fill(x, size, kind);
  for (int32_t c = 0; c < 4; ++c) {
    sums[c] = expected_sums[c] = (int32_t)random_word() >> 4;
    maxima[c] = expected_maxima[c] = between(-128, kind ? 127 : -100);
    for (int32_t k = 0; k < n; ++k) {
      const int32_t value = x[k * distance + c];
      expected_sums[c] += value;
      expected_maxima[c] = value > expected_maxima[c] ? value : expected_maxima[c];
    }
  }
  tvmgen_sums_4(x, distance, n, sums);
  tvmgen_maxima_4(x, distance, n, maxima);
  for (int32_t c = 0; c < 4; ++c) {
    if (sums[c] != expected_sums[c]) failure = "sums_4";
    if (maxima[c] != expected_maxima[c]) failure = "maxima_4";
  }
}

static void check(void) {
  static const int32_t distances[] = {4, 5, 6, 19};
  static const int32_t large[] = {255, 256, 257, 512, 600};
  for (int32_t kind = 0; kind < 4; ++kind) {
    for (int32_t d = 0; d < 4; ++d) {
      for (int32_t n = 0; n < 20; ++n) check_one(distances[d], n, kind);
      for (int32_t i = 0; i < 5; ++i) check_one(distances[d], large[i], kind);
    }
  }
}
"""


@pytest.mark.cc
@pytest.mark.parametrize("options", HOST_OPTIONS.values(), ids=HOST_OPTIONS)
def test_on_host(options, tmp_path):
    check_on_host(["pool"], CHECK, options, tmp_path)


@pytest.mark.board
@every_build
def test_on_board(board, options, tmp_path):
    check_on_board(["pool"], CHECK, board, options, tmp_path)
