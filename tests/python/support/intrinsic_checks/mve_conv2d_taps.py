"""Windows whose taps stay where they are, by cores with MVE, against plain loops."""

from __future__ import annotations

FILES = ["mve/conv2d_1x4_as_float.c"]

CHECK = """
static void check_taps(int32_t columns) {
  const int32_t most = columns > 40 ? 2 : 3, parts = columns > 40 ? 1 : between(1, 2);
  const int32_t height = between(1, 4), width = between(1, 4), depth = parts * columns;
  const int32_t distance = depth + (between(0, 1) ? between(0, 20) : 0);
  const int32_t rows = between(1, most), taps_of_row = between(1, most);
  const int32_t row_dilation = between(1, 3), column_dilation = between(1, 3);
  const int32_t top = between(-6, 5), left = between(-6, 5), padding = between(-128, 127);
  const int32_t channels = between(1, 9), groups = (channels + 3) / 4;
  const int32_t zero_point = between(-128, 127);
  const int32_t low = between(-128, 127), high = between(low, 127);
  const int32_t blocks = (columns + 15) / 16, taps = rows * taps_of_row;
  const int32_t x_size = (height * width - 1) * distance + depth;
  int8_t* const x = buffer(0, x_size, between(0, 3));
  int8_t* const y = buffer(1, channels, between(0, 3));
  int8_t* const w = buffer(2, groups * taps * parts * blocks * 64, between(0, 3));
  int8_t* const plain = buffer(3, channels * taps * depth, 0);
  int32_t* const records = (int32_t*)(void*)buffer(4, groups * 32, 0);
  const int32_t as_float = between(0, 1);
  int32_t bias[12], shift[12], factor[12];
  fill(x, x_size, between(0, 3));
  fill(plain, channels * taps * depth, between(1, 3));
  memset(w, 0, (size_t)(groups * taps * parts * blocks * 64));
  memset(records, 0, (size_t)(groups * 32));
  for (int32_t c = 0; c < channels; ++c) {
    bias[c] = between(-(1 << 22), 1 << 22);
    shift[c] = between(1, 22);
    factor[c] = 1 << 30 | between(0, (1 << 30) - 1);
    if (as_float) factor[c] = random_float(bias[c]);
    int32_t* const record = records + c / 4 * 8 + c % 4;
    record[0] = (int32_t)((uint32_t)bias[c] << 8 | (uint32_t)(-shift[c] & 255));
    if (as_float) record[0] = bias[c];
    record[4] = factor[c];
    for (int32_t row = 0; row < taps * parts; ++row)
      for (int32_t k = 0; k < columns; ++k) {
        const int32_t block = (c / 4 * taps * parts + row) * blocks + (k / 16 + 1) % blocks;
        w[(block * 4 + c % 4) * 16 + k % 16] = plain[(c * taps * parts + row) * columns + k];
      }
  }
  const int32_t tops[2] = {top, left}, extents[2] = {height, width};
  const int32_t taps_of[2] = {rows, taps_of_row}, dilations[2] = {row_dilation, column_dilation};
  int32_t before[2] = {0, 0}, inside[2] = {0, 0}, at[2] = {0, 0};
  for (int32_t side = 0; side < 2; ++side) {
    for (int32_t tap = taps_of[side] - 1; tap >= 0; --tap) {
      const int32_t place = tops[side] + tap * dilations[side];
      if (place >= 0 && place < extents[side]) before[side] = tap, ++inside[side], at[side] = place;
    }
  }
  const int8_t* const first = x + (at[0] * width + at[1]) * distance;
  (as_float ? tvmgen_mve_conv2d_taps_as_float : tvmgen_mve_conv2d_taps)(
      first, w, records, y, channels, columns, depth, zero_point, low, high, rows, taps_of_row,
      before[0], inside[0], before[1], inside[1], row_dilation * width * distance,
      column_dilation * distance, padding);
  for (int32_t c = 0; c < channels; ++c) {
    int32_t sum = bias[c];
    for (int32_t i = 0; i < taps * depth; ++i) {
      const int32_t tap = i / depth;
      const int32_t row = top + tap / taps_of_row * row_dilation,
                    column = left + tap % taps_of_row * column_dilation;
      const int32_t exists = row >= 0 && row < height && column >= 0 && column < width;
      sum += (exists ? x[(row * width + column) * distance + i % depth] : padding) *
             plain[c * taps * depth + i];
    }
    const int32_t scaled =
        as_float ? rescaled_as_float(sum, factor[c]) : rescaled(sum, factor[c], shift[c]);
    if (y[c] != clamped(scaled + zero_point, low, high)) failure = "taps";
  }
}
static void test_mve_conv2d_taps(void) {
  for (int32_t columns = 1; columns <= 240; columns += columns < 34 ? 1 : 29) {
    for (int32_t times = 0; times < 40; ++times) check_taps(columns);
  }
}
"""
