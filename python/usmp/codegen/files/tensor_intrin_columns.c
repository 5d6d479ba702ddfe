/* Sums of products of a row by columns of a matrix whose rows are `distance` apart.
 *
 * tvmgen_columns_C: acc[c] += sum of (x[k] + offset) * y[k * distance + c] over k < n. No sum
 * overflows, -128 <= offset <= 128, and nothing else is read. */
#include <stdint.h>
#include <string.h>

#include "tensor_intrin_features.h"

TVMGEN_INLINE void tvmgen_columns_1(const int8_t* x, const int8_t* y, int32_t distance, int32_t n,
                                    int32_t offset, int32_t* acc) {
  int32_t sum = 0;
  for (; n > 0; --n, ++x, y += distance) sum += (*x + offset) * *y;
  acc[0] += sum;
}

/* The products of two rows, which are two distances apart, by a pair of elements. */
TVMGEN_INLINE void tvmgen_columns_pair_4(uint32_t pair, const int8_t* y, int32_t distance,
                                         int32_t* acc) {
#if defined(TVMGEN_DSP)
  uint32_t t, y0, y2;
  __asm__ volatile(
      "ldr %[y0], [%[y]]\n\t"
      "ldr %[y2], [%[y], %[d], lsl #1]\n\t"
      "pkhbt %[t], %[y0], %[y2], lsl #16\n\t"
      "pkhtb %[y2], %[y2], %[y0], asr #16\n\t"
      "sxtb16 %[y0], %[t]\n\t"
      "sxtb16 %[t], %[t], ror #8\n\t"
      "smlad %[a0], %[x], %[y0], %[a0]\n\t"
      "smlad %[a1], %[x], %[t], %[a1]\n\t"
      "sxtb16 %[y0], %[y2]\n\t"
      "sxtb16 %[t], %[y2], ror #8\n\t"
      "smlad %[a2], %[x], %[y0], %[a2]\n\t"
      "smlad %[a3], %[x], %[t], %[a3]"
      : [a0] "+&r"(acc[0]), [a1] "+&r"(acc[1]), [a2] "+&r"(acc[2]), [a3] "+&r"(acc[3]),
        [t] "=&r"(t), [y0] "=&r"(y0), [y2] "=&r"(y2)
      : [x] "r"(pair), [y] "r"(y), [d] "r"(distance)
      : "memory");
#else
  (void)pair, (void)y, (void)distance, (void)acc;
#endif
}

TVMGEN_INLINE void tvmgen_columns_step_4(const int8_t* x, const int8_t* y, int32_t distance,
                                         int32_t offset, int32_t* acc) {
#if defined(TVMGEN_DSP)
  const uint32_t offsets = ((uint32_t)offset & 0xffff) * 0x10001;
  uint32_t even, odd;
  memcpy(&odd, x, 4);
  __asm__("sxtab16 %0, %1, %2" : "=r"(even) : "r"(offsets), "r"(odd));
  __asm__("sxtab16 %0, %1, %0, ror #8" : "+r"(odd) : "r"(offsets));
  tvmgen_columns_pair_4(even, y, distance, acc);
  tvmgen_columns_pair_4(odd, y + distance, distance, acc);
#else
  for (int32_t k = 0; k < 4; ++k, y += distance) {
    const int32_t value = x[k] + offset;
    acc[0] += value * y[0];
    acc[1] += value * y[1];
    acc[2] += value * y[2];
    acc[3] += value * y[3];
  }
#endif
}

/* Eight rows at a time, whose elements of a column are gathered by offsets of 16 bits. */
TVMGEN_INLINE void tvmgen_columns_mve_4(const int8_t* x, const int8_t* y, int32_t distance,
                                        int32_t n, int32_t offset, int32_t* acc) {
#if defined(TVMGEN_MVE_LOOPS)
  const int8_t* y1 = y + 1;
  __asm__ volatile(
      "mov lr, #0\n\t"
      "vidup.u16 q2, lr, #1\n\t"
      "vmul.i16 q2, q2, %[d]\n\t"
      "mov lr, #2\n\t"
      "vadd.i16 q3, q2, lr\n\t"
      "lsl %[d], %[d], #3\n\t"
      "wlstp.16 lr, %[n], 2f\n"
      "1:\n\t"
      "vldrb.s16 q0, [%[x]], #8\n\t"
      "vldrb.s16 q1, [%[y0], q2]\n\t"
      "vadd.i16 q0, q0, %[o]\n\t"
      "vmladava.s16 %[a0], q0, q1\n\t"
      "vldrb.s16 q1, [%[y1], q2]\n\t"
      "vadd.i16 q2, q2, %[d]\n\t"
      "vmladava.s16 %[a1], q0, q1\n\t"
      "vldrb.s16 q1, [%[y0], q3]\n\t"
      "vmladava.s16 %[a2], q0, q1\n\t"
      "vldrb.s16 q1, [%[y1], q3]\n\t"
      "vadd.i16 q3, q3, %[d]\n\t"
      "vmladava.s16 %[a3], q0, q1\n\t"
      "letp lr, 1b\n"
      "2:\n"
      : [x] "+&l"(x), [d] "+&r"(distance), [a0] "+&Te"(acc[0]), [a1] "+&Te"(acc[1]),
        [a2] "+&Te"(acc[2]), [a3] "+&Te"(acc[3])
      : [y0] "r"(y), [y1] "r"(y1), [o] "r"(offset), [n] "r"(n)
      : "lr", "q0", "q1", "q2", "q3", "memory");
#else
  (void)x, (void)y, (void)distance, (void)n, (void)offset, (void)acc;
#endif
}

TVMGEN_INLINE int tvmgen_columns_are_gathered(int32_t distance, int32_t n) {
#if defined(TVMGEN_MVE_LOOPS)
  return __builtin_constant_p(distance) && __builtin_constant_p(n) && n >= 4 && distance < 4096 &&
         n * distance < 65536 - 8;
#else
  (void)distance, (void)n;
  return 0;
#endif
}

TVMGEN_INLINE void tvmgen_columns_4(const int8_t* x, const int8_t* y, int32_t distance, int32_t n,
                                    int32_t offset, int32_t* acc) {
  int32_t sums[4] = {acc[0], acc[1], acc[2], acc[3]};
  if (tvmgen_columns_are_gathered(distance, n)) {
    tvmgen_columns_mve_4(x, y, distance, n, offset, sums);
    n = 0;
  }
  for (; n >= 4; n -= 4, x += 4, y += 4 * distance) {
    tvmgen_columns_step_4(x, y, distance, offset, sums);
  }
  for (; n > 0; --n, ++x, y += distance) {
    const int32_t value = *x + offset;
    sums[0] += value * y[0];
    sums[1] += value * y[1];
    sums[2] += value * y[2];
    sums[3] += value * y[3];
  }
  acc[0] = sums[0];
  acc[1] = sums[1];
  acc[2] = sums[2];
  acc[3] = sums[3];
}
