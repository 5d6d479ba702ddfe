"""Sums of pixels by cores with MVE against plain loops."""

from __future__ import annotations

FILES = ["mve/sums_as_float.c"]

CHECK = """
static void check_sums(int32_t pixels, int32_t channels) {
  const int32_t in_place = between(0, 2) == 0, size = pixels * channels;
  int8_t* const x = buffer(0, size, between(0, 3));
  int8_t* const before = buffer(1, size, 0);
  int8_t* const y = in_place ? x : buffer(2, channels, between(0, 3));
  const int32_t offset = between(0, 1) ? 0 : between(-128 * pixels, 128 * pixels);
  const int32_t multiplier = between(0, 3) ? between(1 << 29, 2147483646) : 1 << 30;
  const int32_t shift = between(0, 4) ? between(1, 12) : between(1, 30);
  const int32_t as_float = between(0, 1), factor = random_float(offset + pixels * 128);
  const int32_t zero_point = between(-128, 127), low = between(-128, 127), high = between(low, 127);
  fill(x, size, between(0, 5));
  memcpy(before, x, (size_t)size);
  if (as_float)
    tvmgen_mve_sums_as_float(x, y, pixels, channels, offset, factor, zero_point, low, high);
  else
    tvmgen_mve_sums(x, y, pixels, channels, offset, multiplier, shift, zero_point, low, high);
  for (int32_t c = 0; c < channels; ++c) {
    int32_t sum = offset;
    for (int32_t i = 0; i < pixels; ++i) sum += before[i * channels + c];
    const int32_t value =
        as_float ? rescaled_as_float(sum, factor) : rescaled(sum, multiplier, shift);
    if (y[c] != clamped(value + zero_point, low, high)) failure = as_float ? "as_float" : "sums";
  }
  for (int32_t i = channels; in_place && i < size; ++i)
    if (x[i] != before[i]) failure = "beyond";
}
static void test_mve_sums(void) {
  for (int32_t channels = 1; channels <= 70; ++channels)
    for (int32_t i = 0; i < 30; ++i) check_sums(between(1, 40), channels);
  for (int32_t i = 0; i < 200; ++i) check_sums(between(250, 800), between(1, 24));
}
"""
