"""Elements of tensors and of windows by cores with MVE against plain loops."""

from __future__ import annotations

FILES = ["mve/as_float.c", "mve/elementwise.c"]

CHECK = """
static void check_add(int32_t n) {
  const int32_t same = between(0, 1), equal = between(0, 4) == 0;
  const int32_t sign_b = between(0, 1) ? 1 : -1, sign_a = sign_b > 0 && between(0, 1) ? -1 : 1;
  int8_t before[40];
  int8_t* const a = buffer(0, n, between(0, 3));
  int8_t* const b = buffer(1, n, between(0, 3));
  int8_t* const y = same ? a : buffer(2, n, between(0, 3));
  const int32_t a_zero = between(-128, 127), b_zero = between(-128, 127);
  const int32_t multiplier_b = equal ? 1 << 30 : between(1 << 30, 2147483646);
  const int32_t shift_b = equal ? 0 : between(1, 9);
  const int32_t multiplier = between(1 << 30, 2147483646), shift = between(12, 22);
  const int32_t zero_point = between(-128, 127), low = between(-128, 127), high = between(low, 127);
  fill(a, n, between(0, 5)), fill(b, n, between(0, 5));
  memcpy(before, a, (size_t)n);
  /* Halves are exact: what needs no shift is shifted left by one more, and right by one. */
  tvmgen_mve_add(a, b, y, n, sign_a * (1 << 19), -sign_a * a_zero * (1 << 19), equal ? 21 : 20,
                 -b_zero * (1 << (equal ? 21 : 20)), multiplier_b, equal ? 1 : shift_b, sign_b,
                 multiplier, shift, zero_point, low, high);
  for (int32_t i = 0; i < n; ++i) {
    const int32_t left = rescaled((before[i] - a_zero) * (1 << 20), 1 << 30, 0);
    const int32_t right = rescaled((b[i] - b_zero) * (1 << 20), multiplier_b, shift_b);
    const int32_t terms = sign_a * left + sign_b * right;
    const int32_t sum = rescaled(terms, multiplier, shift) + zero_point;
    if (y[i] != clamped(sum, low, high)) failure = "add";
  }
}
static void check_multiply(int32_t n) {
  const int32_t same = between(0, 1), shift = between(1, 15);
  int8_t before[40];
  int8_t* const a = buffer(0, n, between(0, 3));
  int8_t* const b = buffer(1, n, between(0, 3));
  int8_t* const y = same ? a : buffer(2, n, between(0, 3));
  const int32_t offset_a = between(-127, 128), offset_b = between(-127, 128);
  const int32_t multiplier = between(1 << 30, 2147483646), zero_point = between(-128, 127);
  const int32_t low = between(-128, 127), high = between(low, 127);
  fill(a, n, between(0, 5)), fill(b, n, between(0, 5));
  memcpy(before, a, (size_t)n);
  tvmgen_mve_multiply(a, b, y, n, offset_a, offset_b, multiplier, shift, zero_point, low, high);
  for (int32_t i = 0; i < n; ++i) {
    const int32_t product = (before[i] + offset_a) * (b[i] + offset_b);
    const int32_t value = rescaled(product, multiplier, shift) + zero_point;
    if (y[i] != clamped(value, low, high)) failure = "multiply";
  }
}
static void check_requantize(int32_t n) {
  const int32_t same = between(0, 1), left = between(0, 2) ? 0 : between(1, 20);
  const int32_t right = left ? 0 : between(0, 12), offset = between(-127, 128);
  int8_t before[40];
  int8_t* const x = buffer(0, n, between(0, 3));
  int8_t* const y = same ? x : buffer(1, n, between(0, 3));
  const int32_t multiplier = between(1 << 30, 2147483646), zero_point = between(-128, 127);
  const int32_t low = between(-128, 127), high = between(low, 127);
  fill(x, n, between(0, 5));
  memcpy(before, x, (size_t)n);
  tvmgen_mve_requantize(x, y, n, offset * (1 << left), left, multiplier, right, zero_point, low,
                        high);
  for (int32_t i = 0; i < n; ++i) {
    const int32_t value = rescaled((before[i] + offset) * (1 << left), multiplier, right);
    if (y[i] != clamped(value + zero_point, low, high)) failure = "requantize";
  }
}
static void check_as_float(int32_t n) {
  const int32_t same = between(0, 1), offset_a = between(-127, 128), offset_b = between(-127, 128);
  int8_t before[40];
  int8_t* const a = buffer(0, n, between(0, 3));
  int8_t* const b = buffer(1, n, between(0, 3));
  int8_t* const y = same ? a : buffer(2, n, between(0, 3));
  const int32_t zero_point = between(-128, 127), low = between(-128, 127), high = between(low, 127);
  const int32_t factor = random_float(0), is_product = between(0, 1);
  fill(a, n, between(0, 5)), fill(b, n, between(0, 5));
  memcpy(before, a, (size_t)n);
  if (is_product)
    tvmgen_mve_multiply_as_float(a, b, y, n, offset_a, offset_b, factor, zero_point, low, high);
  else
    tvmgen_mve_requantize_as_float(a, y, n, offset_a, factor, zero_point, low, high);
  for (int32_t i = 0; i < n; ++i) {
    const int32_t term = (before[i] + offset_a) * (is_product ? b[i] + offset_b : 1);
    const int32_t value = rescaled_as_float(term, factor) + zero_point;
    if (y[i] != clamped(value, low, high)) failure = is_product ? "product" : "scale";
  }
}
static void check_extremes(int32_t n) {
  const int32_t same = between(0, 1), least = between(0, 1);
  int8_t before[40];
  int8_t* const a = buffer(0, n, between(0, 3));
  int8_t* const b = buffer(1, n, between(0, 3));
  int8_t* const y = same ? a : buffer(2, n, between(0, 3));
  fill(a, n, 3), fill(b, n, 3);
  memcpy(before, a, (size_t)n);
  (least ? tvmgen_mve_minimum : tvmgen_mve_maximum)(a, b, y, n);
  for (int32_t i = 0; i < n; ++i)
    if (y[i] != ((before[i] < b[i]) == least ? before[i] : b[i])) failure = "extremes";
}
static void check_look_up(int32_t n) {
  const int32_t same = between(0, 1);
  int8_t before[40];
  int8_t* const x = buffer(0, n, between(0, 3));
  int8_t* const table = buffer(1, 256, between(0, 3));
  int8_t* const y = same ? x : buffer(2, n, between(0, 3));
  fill(x, n, between(0, 5)), fill(table, 256, 3);
  memcpy(before, x, (size_t)n);
  tvmgen_mve_look_up(x, table, y, n);
  for (int32_t i = 0; i < n; ++i)
    if (y[i] != table[before[i] + 128]) failure = "look_up";
}
static void check_average_pool(int32_t rows, int32_t columns) {
  const int32_t channels = between(1, 20), count = rows * columns;
  const int32_t row_distance = (columns + between(0, 2)) * channels;
  const int32_t size = (rows - 1) * row_distance + columns * channels;
  int8_t* const x = buffer(0, size, between(0, 3));
  int8_t* const y = buffer(1, channels, between(0, 3));
  const int32_t low = between(0, 1) ? -128 : between(-128, 127), high = between(low, 127);
  int32_t shift = 0;
  while ((65536 << shift) / count < 32768) ++shift;
  fill(x, size, between(0, 5));
  tvmgen_mve_average_pool(x, y, rows, columns, row_distance, channels,
                          ((65536 << shift) + count - 1) / count, shift, count / 2, low, high);
  for (int32_t c = 0; c < channels; ++c) {
    int32_t sum = 0;
    for (int32_t i = 0; i < count; ++i)
      sum += x[i / columns * row_distance + i % columns * channels + c];
    sum = (sum > 0 ? sum + count / 2 : sum - count / 2) / count;
    if (y[c] != clamped(sum, low, high)) failure = "average_pool";
  }
}
static void check_max_pool(int32_t rows, int32_t columns) {
  const int32_t channels = between(1, 40);
  const int32_t row_distance = (columns + between(0, 2)) * channels;
  const int32_t size = (rows - 1) * row_distance + columns * channels;
  int8_t* const x = buffer(0, size, between(0, 3));
  int8_t* const y = buffer(1, channels, between(0, 3));
  const int32_t low = between(0, 1) ? -128 : between(-128, 127), high = between(low, 127);
  fill(x, size, between(0, 5));
  tvmgen_mve_max_pool(x, y, rows, columns, row_distance, channels, low, high);
  for (int32_t c = 0; c < channels; ++c) {
    int32_t greatest = -128;
    for (int32_t i = 0; i < rows * columns; ++i) {
      const int32_t value = x[i / columns * row_distance + i % columns * channels + c];
      greatest = value > greatest ? value : greatest;
    }
    if (y[c] != clamped(greatest, low, high)) failure = "max_pool";
  }
}
static void test_mve_elementwise(void) {
  for (int32_t i = 0; i < 500; ++i) check_max_pool(between(1, 5), between(1, 5));
  for (int32_t i = 0; i < 2000; ++i) check_add(between(1, 40));
  for (int32_t i = 0; i < 2000; ++i) check_multiply(between(1, 40));
  for (int32_t i = 0; i < 2000; ++i) check_requantize(between(1, 40));
  for (int32_t i = 0; i < 2000; ++i) check_as_float(between(1, 40));
  for (int32_t i = 0; i < 500; ++i) check_extremes(between(1, 40)), check_look_up(between(1, 40));
  for (int32_t i = 0; i < 700; ++i) {
    const int32_t rows = i < 256 ? 1 : between(1, 16);
    check_average_pool(rows, i < 255 ? i + 2 : i == 255 ? 256 : between(2, 16));
  }
}
"""
