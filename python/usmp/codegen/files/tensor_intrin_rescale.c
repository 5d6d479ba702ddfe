/* From the sums of a quantized operator to its output. */
#include <stdint.h>

#include "tensor_intrin_features.h"

/* TFLite's rescaling, rounded twice, with the zero point added: `shift` has the shift to the right,
 * 1 to 22, in its lowest byte, `rounding` is 2 * zero_point + 1, and |accumulator| < 2^30. Shifts
 * by registers use the lowest byte only. */
TVMGEN_INLINE int32_t tvmgen_rescale_record(int32_t accumulator, int32_t multiplier, int32_t shift,
                                            int32_t rounding) {
#if defined(TVMGEN_DSP)
  int32_t high;
  __asm__("smmulr %0, %1, %2" : "=r"(high) : "r"(accumulator * 2), "r"(multiplier));
#elif UINTPTR_MAX > UINT32_MAX
  const int64_t product = (int64_t)accumulator * multiplier;
  int32_t high = (int32_t)((product + (1 << 30)) >> 31);
#else
  const int64_t product = (int64_t)(accumulator * 2) * multiplier;
  int32_t high = (int32_t)(product >> 32) + (int32_t)((uint32_t)product >> 31);
#endif
  high += high >> 31;
#if defined(TVMGEN_THUMB2)
  __asm__("lsl %0, %1, %2" : "=r"(rounding) : "r"(rounding), "r"(shift));
  high += rounding >> 1;
  __asm__("asr %0, %1, %2" : "=r"(high) : "r"(high), "r"(shift));
  return high;
#else
  high += (int32_t)((uint32_t)rounding << (shift & 255)) >> 1;
  return high >> (shift & 255);
#endif
}

/* The nearest number from -128 to 127. */
TVMGEN_INLINE int32_t tvmgen_saturate_int8(int32_t value) {
#if defined(TVMGEN_THUMB2)
  __asm__("ssat %0, #8, %1" : "=r"(value) : "r"(value));
  return value;
#else
  value = value < 127 ? value : 127;
  return value > -128 ? value : -128;
#endif
}
