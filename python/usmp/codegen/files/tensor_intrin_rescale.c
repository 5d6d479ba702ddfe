/* From an accumulator to an output integer. */
#include <stdint.h>

static inline int32_t tvmgen_rescale_record(int32_t accumulator, int32_t multiplier, int32_t shift,
                                            int32_t rounding) {
  const int32_t right = shift & 255;
  const int64_t product = (int64_t)(accumulator * 2) * multiplier;
  int32_t value = (int32_t)(product >> 32) + (int32_t)((uint32_t)product >> 31);
  value += value >> 31;
  value += (int32_t)((uint32_t)rounding << right) >> 1;
  return value >> right;
}
