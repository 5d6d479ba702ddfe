"""Greater and lesser elements of two tensors against plain loops."""

from __future__ import annotations

FILES = ["tensor_intrin/extremes.c"]

CHECK = """
static void check_extreme(int32_t n, int32_t least) {
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
static void test_extremes(void) {
  for (int32_t i = 0; i < 4000; ++i) check_extreme(i % 50, i & 1);
}
"""
