/* From the sums of a quantized operator to its output. */
#include <stdint.h>

#include "features.h"

/* (2 * a * b + 2^31) >> 32 of |a| < 2^30 and b from 2^30 to 2^31 - 1, for which 2 * b - 2^32 is a
 * number of 32 bits. */
TVMGEN_INLINE int32_t tvmgen_multiply_high(int32_t a, int32_t b) {
#if defined(TVMGEN_DSP)
  int32_t high;
  __asm__("smmlar %0, %1, %2, %1" : "=r"(high) : "r"(a), "r"((uint32_t)b << 1));
  return high;
#elif UINTPTR_MAX > UINT32_MAX
  return (int32_t)(((int64_t)a * b + 0x40000000) >> 31);
#else
  const int64_t product = (int64_t)(a * 2) * b;
  return (int32_t)(product >> 32) + (int32_t)((uint32_t)product >> 31);
#endif
}

/* TFLite's rescaling, rounded twice, with the zero point added: `shift` has the shift to the right,
 * 1 to 22, in its lowest byte, `rounding` is 2 * zero_point + 1, and |accumulator| < 2^30. Shifts
 * by registers use the lowest byte only, and leave the last bit that they drop in the carry. */
TVMGEN_INLINE int32_t tvmgen_rescale_record(int32_t accumulator, int32_t multiplier, int32_t shift,
                                            int32_t rounding) {
  int32_t value = tvmgen_multiply_high(accumulator, multiplier);
  value += value >> 31;
#if defined(TVMGEN_THUMB2)
  shift = __builtin_constant_p(shift) ? shift & 255 : shift;
  if (__builtin_constant_p(rounding) && rounding > 0 && rounding < 512) {
    __asm__("asrs %0, %1, %2\n\tadc %0, %0, %3"
            : "=r"(value)
            : "r"(value), "ri"(shift), "i"(rounding >> 1)
            : "cc");
  } else if (__builtin_constant_p(rounding) && rounding < 0 && rounding >= -512) {
    __asm__("asrs %0, %1, %2\n\tsbc %0, %0, %3"
            : "=r"(value)
            : "r"(value), "ri"(shift), "i"(~(rounding >> 1))
            : "cc");
  } else {
    __asm__("asrs %0, %1, %2\n\tadc %0, %0, %3"
            : "=&r"(value)
            : "r"(value), "ri"(shift), "r"(rounding >> 1)
            : "cc");
  }
  return value;
#else
  value += (int32_t)((uint32_t)rounding << (shift & 255)) >> 1;
  return value >> (shift & 255);
#endif
}

/* The nearest number from -128 to 127. */
TVMGEN_INLINE int32_t tvmgen_saturate_int8(int32_t value) {
#if defined(TVMGEN_THUMB2)
  __asm__("ssat %0, #8, %1" : "=r"(value) : "r"(value));
  if (value < -128 || value > 127) __builtin_unreachable(); /* no conversion to int8_t is needed */
  return value;
#else
  value = value < 127 ? value : 127;
  return value > -128 ? value : -128;
#endif
}
