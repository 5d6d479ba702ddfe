/* Arithmetic of sizes: what does not fit in 64 bits is INT64_MIN, and stays it. */
#include <stdint.h>

static inline int64_t tvmgen_size_add(int64_t a, int64_t b) {
  if (a == INT64_MIN || b == INT64_MIN) return INT64_MIN;
  if (b > 0 ? a > INT64_MAX - b : a < -INT64_MAX - b) return INT64_MIN;
  return a + b;
}

static inline int64_t tvmgen_size_subtract(int64_t a, int64_t b) {
  return b == INT64_MIN ? INT64_MIN : tvmgen_size_add(a, -b);
}

static inline int64_t tvmgen_size_multiply(int64_t a, int64_t b) {
  if (a == INT64_MIN || b == INT64_MIN) return INT64_MIN;
  if (a != 0 && (b < 0 ? -b : b) > INT64_MAX / (a < 0 ? -a : a)) return INT64_MIN;
  return a * b;
}

static inline int64_t tvmgen_size_floor_divide(int64_t a, int64_t b) {
  if (a == INT64_MIN || b == INT64_MIN || b == 0) return INT64_MIN;
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
