"""Windows for cores with MVE against plain loops."""

from __future__ import annotations

FILES = ["mve/window.c"]

CHECK = """
static void check_mve_window(void) {
  const int32_t height = between(1, 8), width = between(1, 8), channels = between(1, 20);
  const int32_t distance = channels + (between(0, 1) ? between(0, 20) : 0);
  const int32_t rows = between(1, 5), columns = between(1, 5);
  const int32_t row_dilation = between(1, 3), column_dilation = between(1, 3);
  const int32_t top = between(-9, 9), left = between(-9, 9), padding = between(-128, 127);
  const int32_t size = (height * width - 1) * distance + channels;
  int8_t* const x = buffer(0, size, between(0, 3));
  int8_t* const y = buffer(1, rows * columns * channels, between(0, 3));
  fill(x, size, 3);
  const int32_t tops[2] = {top, left}, extents[2] = {height, width};
  const int32_t taps_of[2] = {rows, columns}, dilations[2] = {row_dilation, column_dilation};
  int32_t before[2] = {0, 0}, inside[2] = {0, 0}, at[2] = {0, 0};
  for (int32_t side = 0; side < 2; ++side) {
    for (int32_t tap = taps_of[side] - 1; tap >= 0; --tap) {
      const int32_t place = tops[side] + tap * dilations[side];
      if (place >= 0 && place < extents[side]) before[side] = tap, ++inside[side], at[side] = place;
    }
  }
  const int8_t* const first = x + (at[0] * width + at[1]) * distance;
  tvmgen_mve_window(first, y, channels, rows, columns, before[0], inside[0], before[1], inside[1],
                    row_dilation * width * distance, column_dilation * distance, padding);
  for (int32_t i = 0; i < rows * columns * channels; ++i) {
    const int32_t row = top + i / channels / columns * row_dilation,
                  column = left + i / channels % columns * column_dilation;
    const int32_t exists = row >= 0 && row < height && column >= 0 && column < width;
    if (y[i] != (exists ? x[(row * width + column) * distance + i % channels] : padding))
      failure = "window";
  }
}
static void test_mve_window(void) {
  for (int32_t i = 0; i < 3000; ++i) check_mve_window();
}
"""
