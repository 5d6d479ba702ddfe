"""Rescaling by records against TFLite's own steps."""

from __future__ import annotations

FILES = ["tensor_intrin/rescale.c"]

CHECK = """
static void compare(int32_t expected, int32_t actual) {
  if (actual != expected) failure = "rescale_record";
  const int32_t saturated = expected < -128 ? -128 : expected > 127 ? 127 : expected;
  if (tvmgen_saturate_int8(actual) != saturated) failure = "saturate_int8";
}

#define COMPARE(zero_point) \
  compare(exact + (zero_point), \
          tvmgen_rescale_record(value, multiplier, shift, 2 * (zero_point) + 1))

static void check_rescale(int32_t value, int32_t multiplier, int32_t bias) {
  const int32_t high = tvmgen_multiply_high(value, multiplier);
  if (high != rescaled(value, multiplier, 0)) failure = "multiply_high";
  /* The compiler knows the shift, and once the rounding. */
  volatile int32_t rounding = -255;
  const int32_t seventh = rescaled(value, multiplier, 7) - 128;
  compare(seventh, tvmgen_rescale_record(value, multiplier, 0x12307, -255));
  compare(seventh, tvmgen_rescale_record(value, multiplier, 0x12307, rounding));
  for (int32_t right = 1; right < 23; ++right) {
    const int32_t exact = rescaled(value, multiplier, right);
    const int32_t shift = (int32_t)((uint32_t)bias << 8 | (uint32_t)right);
    static volatile int32_t unknown = -128;
    const int32_t zero_point = unknown;
    COMPARE(zero_point);
    COMPARE(-128);
    COMPARE(-1);
    COMPARE(0);
    COMPARE(127);
    unknown = zero_point == 127 ? -128 : zero_point + 1;
  }
}

static void test_rescale(void) {
  static const int32_t values[] = {0, 1, 2, 3, (1 << 30) - 1, (1 << 30) - 2, 1 << 29, 1 << 22};
  static const int32_t multipliers[] = {1 << 30, (1 << 30) + 1, 0x7fffffff, 0x60000000};
  for (int32_t i = 0; i < 8; ++i) {
    for (int32_t j = 0; j < 4; ++j) {
      check_rescale(values[i], multipliers[j], 0x7fffff);
      check_rescale(-values[i], multipliers[j], -0x800000);
    }
  }
  for (int32_t i = 0; i < 2000; ++i) {
    const int32_t size = (int32_t)(random_word() % 31);
    const int32_t value = (int32_t)random_word() >> (1 + size);
    check_rescale(value, (1 << 30) + (int32_t)(random_word() >> 2), (int32_t)random_word() >> 8);
  }
}
"""
