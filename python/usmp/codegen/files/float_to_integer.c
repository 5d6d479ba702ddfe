/* Conversions that C leaves undefined for numbers out of range: the nearest value, and 0 for NaN.
 *
 * The limits compared with are exact in both types, unlike the greatest integer.
 */
#include <stdint.h>

static inline int32_t tvmgen_int32_of_float32(float value) {
  if (value >= -2147483648.0f && value < 2147483648.0f) return (int32_t)value;
  return value > 0 ? INT32_MAX : value < 0 ? INT32_MIN : 0;
}

static inline int32_t tvmgen_int32_of_float64(double value) {
  if (value >= -2147483648.0 && value < 2147483648.0) return (int32_t)value;
  return value > 0 ? INT32_MAX : value < 0 ? INT32_MIN : 0;
}

static inline int64_t tvmgen_int64_of_float32(float value) {
  if (value >= -9.223372036854776e+18f && value < 9.223372036854776e+18f) return (int64_t)value;
  return value > 0 ? INT64_MAX : value < 0 ? INT64_MIN : 0;
}

static inline int64_t tvmgen_int64_of_float64(double value) {
  if (value >= -9.223372036854776e+18 && value < 9.223372036854776e+18) return (int64_t)value;
  return value > 0 ? INT64_MAX : value < 0 ? INT64_MIN : 0;
}

static inline uint64_t tvmgen_uint64_of_float32(float value) {
  if (value > -1.0f && value < 1.8446744073709552e+19f) return (uint64_t)value;
  return value > 0 ? UINT64_MAX : value < 0 ? 0 : 0;
}

static inline uint64_t tvmgen_uint64_of_float64(double value) {
  if (value > -1.0 && value < 1.8446744073709552e+19) return (uint64_t)value;
  return value > 0 ? UINT64_MAX : value < 0 ? 0 : 0;
}
