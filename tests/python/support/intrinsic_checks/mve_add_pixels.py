"""Rows of pixels that cores with MVE add to sums against plain loops."""

from __future__ import annotations

FILES = ["mve/add_pixels.c"]

CHECK = """
static void check_pixels(int32_t pixels, int32_t channels) {
  int8_t* const x = buffer(0, pixels * channels, between(0, 3));
  int32_t sums[72], expected[72];
  for (int32_t c = 0; c < 72; ++c) sums[c] = expected[c] = between(-1000000, 1000000);
  fill(x, pixels * channels, between(0, 5));
  for (int32_t i = 0; i < pixels * channels; ++i) expected[i % channels] += x[i];
  tvmgen_mve_add_pixels(x, sums, pixels, channels);
  if (memcmp(sums, expected, sizeof(sums)) != 0) failure = "sums";
}
static void test_mve_add_pixels(void) {
  for (int32_t channels = 1; channels <= 70; ++channels)
    for (int32_t i = 0; i < 20; ++i) check_pixels(between(1, 12), channels);
  for (int32_t i = 0; i < 50; ++i) check_pixels(between(250, 256), between(1, 70));
}
"""
