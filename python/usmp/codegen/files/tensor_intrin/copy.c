/* Copies of bytes and words, and runs of one byte.
 *
 * tvmgen_copy: y[i] = x[i] for i < n in this order, so that y may lie before x in one memory.
 * tvmgen_copy_words: the same; addresses and n are multiples of 4.
 * tvmgen_fill: y[i] = value for i < n. */
#include <stdint.h>
#include <string.h>

#include "features.h"

TVMGEN_INLINE void tvmgen_copy_16(int8_t* y, const int8_t* x) {
#if defined(__ARM_FEATURE_MVE) && !defined(TVMGEN_PORTABLE)
  __asm__("vldrb.8 q0, [%1]\n\tvstrb.8 q0, [%0]" : : "r"(y), "r"(x) : "q0", "memory");
#else
  uint32_t a, b, c, d;
  memcpy(&a, x, 4);
  memcpy(&b, x + 4, 4);
  memcpy(&c, x + 8, 4);
  memcpy(&d, x + 12, 4);
  memcpy(y, &a, 4);
  memcpy(y + 4, &b, 4);
  memcpy(y + 8, &c, 4);
  memcpy(y + 12, &d, 4);
#endif
}

/* GCC does not know that addresses need no alignment in memmove, which copies bytes then. */
TVMGEN_INLINE void tvmgen_copy(void* y, const void* x, int32_t n) {
#if defined(TVMGEN_THUMB2)
  const int8_t* from = (const int8_t*)x;
  int8_t* to = (int8_t*)y;
  uint32_t word;
  uint16_t half;
  for (; n >= 32; n -= 32) {
    tvmgen_copy_16(to, from);
    tvmgen_copy_16(to + 16, from + 16);
    from += 32;
    to += 32;
  }
  if (n & 16) {
    tvmgen_copy_16(to, from);
    from += 16;
    to += 16;
  }
  if (n & 8) {
    memcpy(&word, from, 4);
    memcpy(to, &word, 4);
    memcpy(&word, from + 4, 4);
    memcpy(to + 4, &word, 4);
    from += 8;
    to += 8;
  }
  if (n & 4) {
    memcpy(&word, from, 4);
    memcpy(to, &word, 4);
    from += 4;
    to += 4;
  }
  if (n & 2) {
    memcpy(&half, from, 2);
    memcpy(to, &half, 2);
    from += 2;
    to += 2;
  }
  if (n & 1) *to = *from;
#else
  memmove(y, x, (size_t)n);
#endif
}

TVMGEN_INLINE void tvmgen_copy_words(void* y, const void* x, int32_t n) {
#if defined(TVMGEN_THUMB2)
  for (; n >= 64; n -= 64) {
    __asm__ __volatile__(
        "ldmia %1!, {r3, r4, r5, r6, r8, r10, r12, lr}\n\t"
        "stmia %0!, {r3, r4, r5, r6, r8, r10, r12, lr}\n\t"
        "ldmia %1!, {r3, r4, r5, r6, r8, r10, r12, lr}\n\t"
        "stmia %0!, {r3, r4, r5, r6, r8, r10, r12, lr}"
        : "+r"(y), "+r"(x)
        :
        : "r3", "r4", "r5", "r6", "r8", "r10", "r12", "lr", "memory");
  }
  for (; n >= 16; n -= 16) {
    __asm__ __volatile__("ldmia %1!, {r3, r4, r5, r6}\n\tstmia %0!, {r3, r4, r5, r6}"
                         : "+r"(y), "+r"(x)
                         :
                         : "r3", "r4", "r5", "r6", "memory");
  }
  for (; n > 0; n -= 4) {
    __asm__ __volatile__("ldmia %1!, {r3}\n\tstmia %0!, {r3}"
                         : "+r"(y), "+r"(x)
                         :
                         : "r3", "memory");
  }
#else
  memmove(y, x, (size_t)n);
#endif
}

TVMGEN_INLINE void tvmgen_fill(void* y, int32_t n, int32_t value) {
  memset(y, value, (size_t)n);
}
