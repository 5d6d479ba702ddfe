/* Operations on integers of 64 bits that C leaves undefined for some operands, defined for all. */
#include <stdint.h>

static inline int64_t tvmgen_add_int64(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t tvmgen_subtract_int64(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a - (uint64_t)b);
}

static inline int64_t tvmgen_multiply_int64(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a * (uint64_t)b);
}

static inline int64_t tvmgen_divide_int64(int64_t a, int64_t b) {
  if (b == 0) return 0;
  return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

static inline int64_t tvmgen_remainder_int64(int64_t a, int64_t b) {
  return b == 0 || b == -1 ? 0 : a % b;
}

static inline int64_t tvmgen_floor_divide_int64(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return (int64_t)(0 - (uint64_t)a);
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static inline int64_t tvmgen_floor_modulo_int64(int64_t a, int64_t b) {
  const int64_t rest = b == 0 || b == -1 ? 0 : a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static inline int64_t tvmgen_shift_left_int64(int64_t a, int64_t b) {
  return (uint64_t)b < 64 ? (int64_t)((uint64_t)a << b) : 0;
}

static inline int64_t tvmgen_shift_right_int64(int64_t a, int64_t b) {
  return a >> ((uint64_t)b < 64 ? b : 64 - 1);
}

static inline uint64_t tvmgen_divide_uint64(uint64_t a, uint64_t b) {
  return b == 0 ? 0 : a / b;
}

static inline uint64_t tvmgen_remainder_uint64(uint64_t a, uint64_t b) {
  return b == 0 ? 0 : a % b;
}

static inline uint64_t tvmgen_shift_left_uint64(uint64_t a, uint64_t b) {
  return b < 64 ? a << b : 0;
}

static inline uint64_t tvmgen_shift_right_uint64(uint64_t a, uint64_t b) {
  return b < 64 ? a >> b : 0;
}
