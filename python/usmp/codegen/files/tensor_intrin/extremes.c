/* The greater elements of two tensors, or the lesser ones.
 *
 * tvmgen_extremes: y[i] = the greater of a[i] and b[i] for i < n, or if `least` the lesser, in this
 * order, so that y may lie before a and b in one memory. */
#include <stdint.h>
#include <string.h>

#include "features.h"

TVMGEN_INLINE int8_t tvmgen_extreme(int8_t a, int8_t b, int32_t least) {
  return least ? (a < b ? a : b) : (a > b ? a : b);
}

TVMGEN_INLINE void tvmgen_extremes_4(const int8_t* a, const int8_t* b, int8_t* y, int32_t least) {
#if defined(TVMGEN_DSP)
  uint32_t found, other, differences;
  memcpy(&found, a, 4);
  memcpy(&other, b, 4);
  if (least) {
    __asm__("ssub8 %1, %2, %0\n\tsel %0, %0, %2"
            : "+r"(found), "=&r"(differences)
            : "r"(other)
            : "cc");
  } else {
    __asm__("ssub8 %1, %0, %2\n\tsel %0, %0, %2"
            : "+r"(found), "=&r"(differences)
            : "r"(other)
            : "cc");
  }
  memcpy(y, &found, 4);
#else
  y[0] = tvmgen_extreme(a[0], b[0], least);
  y[1] = tvmgen_extreme(a[1], b[1], least);
  y[2] = tvmgen_extreme(a[2], b[2], least);
  y[3] = tvmgen_extreme(a[3], b[3], least);
#endif
}

TVMGEN_INLINE void tvmgen_extremes(const int8_t* a, const int8_t* b, int8_t* y, int32_t n,
                                   int32_t least) {
#if defined(TVMGEN_THUMB2)
  for (; n >= 8; n -= 8) {
    tvmgen_extremes_4(a, b, y, least);
    tvmgen_extremes_4(a + 4, b + 4, y + 4, least);
    a += 8;
    b += 8;
    y += 8;
  }
#endif
  for (int32_t i = 0; i < n; ++i) y[i] = tvmgen_extreme(a[i], b[i], least);
}
