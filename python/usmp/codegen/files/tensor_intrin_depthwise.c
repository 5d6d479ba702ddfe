/* Products of several channels, each by a weight of its own. */
#include <stdint.h>
#include <string.h>

#include "tensor_intrin_dot_vectors.c"
#include "tensor_intrin_features.h"

/* acc[c] += (x[c] + offset) * w[c] of four channels. */
TVMGEN_INLINE void tvmgen_depthwise_4(const int8_t* x, const int8_t* w, int32_t offset,
                                      int32_t* acc) {
#if defined(TVMGEN_DSP)
  struct four_bytes {
    int8_t elements[4];
  };
  const uint32_t offsets = ((uint32_t)offset & 0xffff) * 0x10001;
  uint32_t x0, x1, w0, w1;
  __asm__(
      "ldr %[x0], %[x]\n\t"
      "ldr %[w0], %[w]\n\t"
      "sxtab16 %[x1], %[offsets], %[x0], ror #8\n\t"
      "sxtab16 %[x0], %[offsets], %[x0]\n\t"
      "sxtb16 %[w1], %[w0], ror #8\n\t"
      "sxtb16 %[w0], %[w0]\n\t"
      "smlabb %[a0], %[x0], %[w0], %[a0]\n\t"
      "smlabb %[a1], %[x1], %[w1], %[a1]\n\t"
      "smlatt %[a2], %[x0], %[w0], %[a2]\n\t"
      "smlatt %[a3], %[x1], %[w1], %[a3]"
      : [a0] "+&r"(acc[0]), [a1] "+&r"(acc[1]), [a2] "+&r"(acc[2]), [a3] "+&r"(acc[3]),
        [x0] "=&r"(x0), [x1] "=&r"(x1), [w0] "=&r"(w0), [w1] "=&r"(w1)
      : [x] "m"(*(const struct four_bytes*)x), [w] "m"(*(const struct four_bytes*)w),
        [offsets] "r"(offsets));
#elif defined(TVMGEN_AVX2)
  tvmgen_sums4 sums;
  memcpy(&sums, acc, sizeof(sums));
  sums += (tvmgen_widened_4(x) + offset) * tvmgen_widened_4(w);
  memcpy(acc, &sums, sizeof(sums));
#else
  acc[0] += (x[0] + offset) * w[0];
  acc[1] += (x[1] + offset) * w[1];
  acc[2] += (x[2] + offset) * w[2];
  acc[3] += (x[3] + offset) * w[3];
#endif
}

/* The same of the rows and columns of a window, whose weights lie w_row apart from row to row. */
TVMGEN_INLINE void tvmgen_depthwise_window_4(const int8_t* x, int32_t x_row, int32_t x_column,
                                             const int8_t* w, int32_t w_row, int32_t rows,
                                             int32_t columns, int32_t offset, int32_t* acc) {
  int32_t sums[4] = {acc[0], acc[1], acc[2], acc[3]};
  for (; rows > 0; --rows, x += x_row, w += w_row) {
    const int8_t *p = x, *q = w;
    for (int32_t k = columns; k > 0; --k, p += x_column, q += 4) {
      tvmgen_depthwise_4(p, q, offset, sums);
    }
  }
  acc[0] = sums[0];
  acc[1] = sums[1];
  acc[2] = sums[2];
  acc[3] = sums[3];
}
