"""Sums and maxima of pixels against plain loops."""

from __future__ import annotations

FILES = ["tensor_intrin/pool.c"]

CHECK = """
static void check_pool(int32_t distance, int32_t n, int32_t kind) {
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

static void test_pool(void) {
  static const int32_t distances[] = {4, 5, 6, 19};
  static const int32_t large[] = {255, 256, 257, 512, 600};
  for (int32_t kind = 0; kind < 4; ++kind) {
    for (int32_t d = 0; d < 4; ++d) {
      for (int32_t n = 0; n < 20; ++n) check_pool(distances[d], n, kind);
      for (int32_t i = 0; i < 5; ++i) check_pool(distances[d], large[i], kind);
    }
  }
}
"""
