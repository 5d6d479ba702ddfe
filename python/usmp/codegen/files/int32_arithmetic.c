/* Operations on integers of 32 bits that C leaves undefined for some operands, defined for all. */
#include <stdint.h>

static inline int32_t tvmgen_add_int32(int32_t a, int32_t b) {
  return (int32_t)((uint32_t)a + (uint32_t)b);
}

static inline int32_t tvmgen_subtract_int32(int32_t a, int32_t b) {
  return (int32_t)((uint32_t)a - (uint32_t)b);
}

static inline int32_t tvmgen_multiply_int32(int32_t a, int32_t b) {
  return (int32_t)((uint32_t)a * (uint32_t)b);
}

static inline int32_t tvmgen_divide_int32(int32_t a, int32_t b) {
  if (b == 0) return 0;
  return b == -1 ? (int32_t)(0 - (uint32_t)a) : a / b;
}

static inline int32_t tvmgen_remainder_int32(int32_t a, int32_t b) {
  return b == 0 || b == -1 ? 0 : a % b;
}

static inline int32_t tvmgen_floor_divide_int32(int32_t a, int32_t b) {
  if (b == 0) return 0;
  if (b == -1) return (int32_t)(0 - (uint32_t)a);
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static inline int32_t tvmgen_floor_modulo_int32(int32_t a, int32_t b) {
  const int32_t rest = b == 0 || b == -1 ? 0 : a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static inline int32_t tvmgen_shift_left_int32(int32_t a, int32_t b) {
  return (uint32_t)b < 32 ? (int32_t)((uint32_t)a << b) : 0;
}

static inline int32_t tvmgen_shift_right_int32(int32_t a, int32_t b) {
  return a >> ((uint32_t)b < 32 ? b : 32 - 1);
}

static inline uint32_t tvmgen_divide_uint32(uint32_t a, uint32_t b) {
  return b == 0 ? 0 : a / b;
}

static inline uint32_t tvmgen_remainder_uint32(uint32_t a, uint32_t b) {
  return b == 0 ? 0 : a % b;
}

static inline uint32_t tvmgen_shift_left_uint32(uint32_t a, uint32_t b) {
  return b < 32 ? a << b : 0;
}

static inline uint32_t tvmgen_shift_right_uint32(uint32_t a, uint32_t b) {
  return b < 32 ? a >> b : 0;
}
