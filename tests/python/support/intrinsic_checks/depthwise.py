"""Products of four channels against plain loops."""

from __future__ import annotations

FILES = ["tensor_intrin/depthwise.c"]

CHECK = """
static void windows(int32_t rows, int32_t columns) {
  int8_t* const x = buffer(0, 2 * 32 + 2 * 8 + 4, 1);
  int8_t* const w = buffer(1, 36, 2);
  int32_t expected[4] = {0}, actual[4] = {0};
  fill(x, 2 * 32 + 2 * 8 + 4, 3);
  fill(w, 36, 3);
  for (int32_t i = 0; i < rows * columns * 4; ++i) {
    const int32_t row = i / (columns * 4), column = i / 4 % columns, c = i % 4;
    expected[c] += (x[row * 32 + column * 8 + c] + 9) * w[row * 12 + column * 4 + c];
  }
  tvmgen_depthwise_window_4(x, 32, 8, w, 12, rows, columns, 9, actual);
  for (int32_t c = 0; c < 4; ++c) {
    if (actual[c] != expected[c]) failure = "depthwise_window_4";
  }
}

static void test_depthwise(void) {
  for (int32_t i = 0; i < 16; ++i) windows(i / 4, i % 4);
  static const int32_t offsets[] = {-127, 128, 0, 5};
  for (int32_t kind = 0; kind < 256; ++kind) {
    int8_t* const x = buffer(0, 4, kind & 3);
    int8_t* const w = buffer(1, 4, kind >> 2 & 3);
    const int32_t offset = offsets[kind >> 4 & 3];
    int32_t expected[4], actual[4];
    fill(x, 4, kind & 3);
    fill(w, 4, kind >> 6);
    for (int32_t c = 0; c < 4; ++c) {
      actual[c] = (int32_t)random_word() >> 4;
      expected[c] = actual[c] + (x[c] + offset) * w[c];
    }
    tvmgen_depthwise_4(x, w, offset, actual);
    for (int32_t c = 0; c < 4; ++c) {
      if (actual[c] != expected[c]) failure = "depthwise_4";
    }
  }
}
"""
