/* Sums of products of pixels by channels of weights on the vectors of cores with MVE, 16 columns at
 * a time and the rest predicated, so that nothing else is read: acc[p * C + c] += sum of (xp[k] +
 * offset) * wc[k] over k < n. The sums of the weights are for the offset. */
#include <stdint.h>

#include "tensor_intrin_features.h"

/* Sums wrap until all is added. */
#if defined(TVMGEN_MVE_LOOPS)
TVMGEN_INLINE void tvmgen_add_product(int32_t* acc, int32_t a, int32_t b) {
  *acc = (int32_t)((uint32_t)*acc + (uint32_t)a * (uint32_t)b);
}
#endif

#if defined(TVMGEN_MVE_LOOPS)
TVMGEN_INLINE void tvmgen_dot_mve_1x1(const int8_t* x0, const int8_t* w0, int32_t n, int32_t offset,
                                      int32_t* acc) {
  int32_t s0 = 0;
  __asm__ volatile(
      "wlstp.8 lr, %[n], 2f\n"
      "1:\n\t"
      "vldrb.8 q0, [%[x0]], #16\n\t"
      "vldrb.8 q1, [%[w0]], #16\n\t"
      "vmladava.s8 %[a0], q0, q1\n\t"
      "vaddva.s8 %[s0], q1\n\t"
      "letp lr, 1b\n"
      "2:\n"
      : [x0] "+r"(x0), [w0] "+r"(w0), [a0] "+Te"(acc[0]), [s0] "+Te"(s0)
      : [n] "r"(n)
      : "lr", "q0", "q1", "q2", "q3", "memory");
  tvmgen_add_product(&acc[0], offset, s0);
}
#endif

#if defined(TVMGEN_MVE_LOOPS)
TVMGEN_INLINE void tvmgen_dot_mve_1x2(const int8_t* x0, const int8_t* w0, const int8_t* w1,
                                      int32_t n, int32_t offset, int32_t* acc) {
  int32_t s0 = 0, s1 = 0;
  __asm__ volatile(
      "wlstp.8 lr, %[n], 2f\n"
      "1:\n\t"
      "vldrb.8 q0, [%[x0]], #16\n\t"
      "vldrb.8 q1, [%[w0]], #16\n\t"
      "vmladava.s8 %[a0], q0, q1\n\t"
      "vaddva.s8 %[s0], q1\n\t"
      "vldrb.8 q2, [%[w1]], #16\n\t"
      "vmladava.s8 %[a1], q0, q2\n\t"
      "vaddva.s8 %[s1], q2\n\t"
      "letp lr, 1b\n"
      "2:\n"
      : [x0] "+r"(x0), [w0] "+r"(w0), [w1] "+r"(w1), [a0] "+Te"(acc[0]), [a1] "+Te"(acc[1]),
        [s0] "+Te"(s0), [s1] "+Te"(s1)
      : [n] "r"(n)
      : "lr", "q0", "q1", "q2", "q3", "memory");
  tvmgen_add_product(&acc[0], offset, s0);
  tvmgen_add_product(&acc[1], offset, s1);
}
#endif

#if defined(TVMGEN_MVE_LOOPS)
TVMGEN_INLINE void tvmgen_dot_mve_2x1(const int8_t* x0, const int8_t* x1, const int8_t* w0,
                                      int32_t n, int32_t offset, int32_t* acc) {
  int32_t s0 = 0;
  __asm__ volatile(
      "wlstp.8 lr, %[n], 2f\n"
      "1:\n\t"
      "vldrb.8 q0, [%[x0]], #16\n\t"
      "vldrb.8 q2, [%[w0]], #16\n\t"
      "vmladava.s8 %[a0], q0, q2\n\t"
      "vldrb.8 q1, [%[x1]], #16\n\t"
      "vmladava.s8 %[a1], q1, q2\n\t"
      "vaddva.s8 %[s0], q2\n\t"
      "letp lr, 1b\n"
      "2:\n"
      : [x0] "+r"(x0), [x1] "+r"(x1), [w0] "+r"(w0), [a0] "+Te"(acc[0]), [a1] "+Te"(acc[1]),
        [s0] "+Te"(s0)
      : [n] "r"(n)
      : "lr", "q0", "q1", "q2", "q3", "memory");
  tvmgen_add_product(&acc[0], offset, s0);
  tvmgen_add_product(&acc[1], offset, s0);
}
#endif

/* The sums of the weights are in a loop of their own: some builds have no registers for both. */
#if defined(TVMGEN_MVE_LOOPS)
TVMGEN_INLINE void tvmgen_dot_mve_2x2(const int8_t* x0, const int8_t* x1, const int8_t* w0,
                                      const int8_t* w1, int32_t n, int32_t offset, int32_t* acc) {
  const int8_t *v0 = w0, *v1 = w1;
  int32_t s0 = 0, s1 = 0;
  __asm__ volatile(
      "wlstp.8 lr, %[n], 2f\n"
      "1:\n\t"
      "vldrb.8 q0, [%[x0]], #16\n\t"
      "vldrb.8 q2, [%[w0]], #16\n\t"
      "vmladava.s8 %[a0], q0, q2\n\t"
      "vldrb.8 q3, [%[w1]], #16\n\t"
      "vmladava.s8 %[a1], q0, q3\n\t"
      "vldrb.8 q1, [%[x1]], #16\n\t"
      "vmladava.s8 %[a2], q1, q2\n\t"
      "vmladava.s8 %[a3], q1, q3\n\t"
      "letp lr, 1b\n"
      "2:\n"
      : [x0] "+r"(x0), [x1] "+r"(x1), [w0] "+r"(w0), [w1] "+r"(w1), [a0] "+Te"(acc[0]),
        [a1] "+Te"(acc[1]), [a2] "+Te"(acc[2]), [a3] "+Te"(acc[3])
      : [n] "r"(n)
      : "lr", "q0", "q1", "q2", "q3", "memory");
  if (offset == 0) return;
  __asm__ volatile(
      "wlstp.8 lr, %[n], 2f\n"
      "1:\n\t"
      "vldrb.8 q0, [%[w0]], #16\n\t"
      "vldrb.8 q1, [%[w1]], #16\n\t"
      "vaddva.s8 %[s0], q0\n\t"
      "vaddva.s8 %[s1], q1\n\t"
      "letp lr, 1b\n"
      "2:\n"
      : [w0] "+r"(v0), [w1] "+r"(v1), [s0] "+Te"(s0), [s1] "+Te"(s1)
      : [n] "r"(n)
      : "lr", "q0", "q1", "memory");
  tvmgen_add_product(&acc[0], offset, s0);
  tvmgen_add_product(&acc[1], offset, s1);
  tvmgen_add_product(&acc[2], offset, s0);
  tvmgen_add_product(&acc[3], offset, s1);
}
#endif
