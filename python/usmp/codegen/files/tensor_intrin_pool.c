/* Sums and maxima of four channels over pixels that lie at one distance from each other.
 *
 * tvmgen_sums_4: acc[c] += sum of x[k * distance + c] over k < n; no sum overflows.
 * tvmgen_maxima_4: acc[c] = the greatest of acc[c] and x[k * distance + c] over k < n. */
#include <stdint.h>
#include <string.h>

#include "tensor_intrin_features.h"

/* A column of 256 pixels fits 16 bits, of which a register holds two sums. */
TVMGEN_INLINE void tvmgen_sums_4(const int8_t* x, int32_t distance, int32_t n, int32_t* acc) {
#if defined(TVMGEN_DSP)
  while (n > 0) {
    int32_t steps = n < 256 ? n : 256;
    uint32_t even = 0, odd = 0;
    n -= steps;
    do {
      uint32_t four;
      memcpy(&four, x, 4);
      __asm__("sxtab16 %0, %0, %1" : "+r"(even) : "r"(four));
      __asm__("sxtab16 %0, %0, %1, ror #8" : "+r"(odd) : "r"(four));
      x += distance;
    } while (--steps);
    acc[0] += (int16_t)(even & 0xffff);
    acc[1] += (int16_t)(odd & 0xffff);
    acc[2] += (int32_t)even >> 16;
    acc[3] += (int32_t)odd >> 16;
  }
#else
  int32_t sums[4] = {0};
  for (int32_t k = 0; k < n; ++k) {
    sums[0] += x[0];
    sums[1] += x[1];
    sums[2] += x[2];
    sums[3] += x[3];
    x += distance;
  }
  for (int32_t c = 0; c < 4; ++c) acc[c] += sums[c];
#endif
}

TVMGEN_INLINE void tvmgen_maxima_4(const int8_t* x, int32_t distance, int32_t n, int32_t* acc) {
#if defined(TVMGEN_DSP)
  uint32_t greatest = 0x80808080;
  for (; n > 0; --n) {
    uint32_t four, differences;
    memcpy(&four, x, 4);
    __asm__("ssub8 %1, %2, %0\n\tsel %0, %2, %0"
            : "+r"(greatest), "=&r"(differences)
            : "r"(four)
            : "cc");
    x += distance;
  }
  for (int32_t c = 0; c < 4; ++c) {
    const int32_t value = (int8_t)(greatest >> 8 * c & 0xff);
    acc[c] = value > acc[c] ? value : acc[c];
  }
#else
  int32_t maxima[4] = {acc[0], acc[1], acc[2], acc[3]};
  for (int32_t k = 0; k < n; ++k) {
    maxima[0] = x[0] > maxima[0] ? x[0] : maxima[0];
    maxima[1] = x[1] > maxima[1] ? x[1] : maxima[1];
    maxima[2] = x[2] > maxima[2] ? x[2] : maxima[2];
    maxima[3] = x[3] > maxima[3] ? x[3] : maxima[3];
    x += distance;
  }
  for (int32_t c = 0; c < 4; ++c) acc[c] = maxima[c];
#endif
}
