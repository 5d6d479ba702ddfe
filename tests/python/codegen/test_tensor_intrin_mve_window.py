"""Windows for cores with MVE against plain loops, on this host and on boards."""

from __future__ import annotations

import pytest

from support.tensor_intrinsic_programs import (
    HOST_OPTIONS,
    check_on_board,
    check_on_host,
    every_mve_build,
)

CHECK = """
static void check_window(void) {
  const int32_t height = between(1, 8), width = between(1, 8), channels = between(1, 20);
  const int32_t distance = channels + (between(0, 1) ? between(0, 20) : 0);
  const int32_t rows = between(1, 5), columns = between(1, 5);
  const int32_t row_dilation = between(1, 3), column_dilation = between(1, 3);
  const int32_t top = between(-9, 9), left = between(-9, 9), padding = between(-128, 127);
  const int32_t size = (height * width - 1) * distance + channels;
  int8_t* const x = buffer(0, size, between(0, 3));
  int8_t* const y = buffer(1, rows * columns * channels, between(0, 3));
  fill(x, size, 3);
  int32_t above = 0, inside = 0;
  for (int32_t row = rows - 1; row >= 0; --row) {
    const int32_t at = top + row * row_dilation;
    if (at >= 0 && at < height) above = row, ++inside;
  }
  const int8_t* const first = x + (inside ? top + above * row_dilation : 0) * width * distance;
  tvmgen_mve_window(first, y, above, inside, width, channels, distance, rows, columns, row_dilation,
                    column_dilation, left, padding);
  for (int32_t i = 0; i < rows * columns * channels; ++i) {
    const int32_t row = top + i / channels / columns * row_dilation,
                  column = left + i / channels % columns * column_dilation;
    const int32_t exists = row >= 0 && row < height && column >= 0 && column < width;
    if (y[i] != (exists ? x[(row * width + column) * distance + i % channels] : padding))
      failure = "window";
  }
}
static void check(void) {
  for (int32_t i = 0; i < 3000; ++i) check_window();
}
"""


@pytest.mark.cc
@pytest.mark.parametrize("options", HOST_OPTIONS.values(), ids=HOST_OPTIONS)
def test_on_host(options, tmp_path):
    check_on_host("tensor_intrin_mve_window.c", CHECK, options, tmp_path)


@pytest.mark.board
@every_mve_build
def test_on_board(board, options, tmp_path):
    check_on_board("tensor_intrin_mve_window.c", CHECK, board, options, tmp_path)
