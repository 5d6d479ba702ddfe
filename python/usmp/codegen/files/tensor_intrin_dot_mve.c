/* Sums of products of pixels by channels of weights on the vectors of cores with MVE, 16 columns at
 * a time and the rest predicated, so that nothing else is read: acc[p * C + c] += sum of (xp[k] +
 * offset) * wc[k] over k < n. The sums of the weights are for the offset. */
#include <stdint.h>

#include "tensor_intrin_features.h"

TVMGEN_INLINE void tvmgen_dot_mve_1x1(const int8_t* x0, const int8_t* w0, int32_t n, int32_t offset,
                                      int32_t* acc) {
#if defined(TVMGEN_MVE_LOOPS)
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
  acc[0] = (int32_t)((uint32_t)acc[0] + (uint32_t)offset * (uint32_t)s0);
#else
  for (int32_t k = 0; k < n; ++k) {
    acc[0] += (x0[k] + offset) * w0[k];
  }
#endif
}

TVMGEN_INLINE void tvmgen_dot_mve_1x2(const int8_t* x0, const int8_t* w0, const int8_t* w1,
                                      int32_t n, int32_t offset, int32_t* acc) {
#if defined(TVMGEN_MVE_LOOPS)
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
  acc[0] = (int32_t)((uint32_t)acc[0] + (uint32_t)offset * (uint32_t)s0);
  acc[1] = (int32_t)((uint32_t)acc[1] + (uint32_t)offset * (uint32_t)s1);
#else
  for (int32_t k = 0; k < n; ++k) {
    acc[0] += (x0[k] + offset) * w0[k];
    acc[1] += (x0[k] + offset) * w1[k];
  }
#endif
}

TVMGEN_INLINE void tvmgen_dot_mve_2x1(const int8_t* x0, const int8_t* x1, const int8_t* w0,
                                      int32_t n, int32_t offset, int32_t* acc) {
#if defined(TVMGEN_MVE_LOOPS)
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
  acc[0] = (int32_t)((uint32_t)acc[0] + (uint32_t)offset * (uint32_t)s0);
  acc[1] = (int32_t)((uint32_t)acc[1] + (uint32_t)offset * (uint32_t)s0);
#else
  for (int32_t k = 0; k < n; ++k) {
    acc[0] += (x0[k] + offset) * w0[k];
    acc[1] += (x1[k] + offset) * w0[k];
  }
#endif
}

/* The sums of the weights are in a loop of their own: some builds have no registers for both. */
TVMGEN_INLINE void tvmgen_dot_mve_2x2(const int8_t* x0, const int8_t* x1, const int8_t* w0,
                                      const int8_t* w1, int32_t n, int32_t offset, int32_t* acc) {
#if defined(TVMGEN_MVE_LOOPS)
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
  acc[0] = (int32_t)((uint32_t)acc[0] + (uint32_t)offset * (uint32_t)s0);
  acc[1] = (int32_t)((uint32_t)acc[1] + (uint32_t)offset * (uint32_t)s1);
  acc[2] = (int32_t)((uint32_t)acc[2] + (uint32_t)offset * (uint32_t)s0);
  acc[3] = (int32_t)((uint32_t)acc[3] + (uint32_t)offset * (uint32_t)s1);
#else
  for (int32_t k = 0; k < n; ++k) {
    acc[0] += (x0[k] + offset) * w0[k];
    acc[1] += (x0[k] + offset) * w1[k];
    acc[2] += (x1[k] + offset) * w0[k];
    acc[3] += (x1[k] + offset) * w1[k];
  }
#endif
}
