/* Four columns of products: a step of the loops of tensor_intrin_dot.c.
 *
 * Each adds to acc[p * C + c] what pixel p at x + p * x_distance and channel c at
 * w + c * w_distance give, and moves both pointers on. The instructions stand in an order that the
 * Cortex-M7 issues in pairs. Distances that are no constants, or too large for an instruction, are
 * in registers, of which there are enough for steps of two sums: larger steps become these. */
#include <stdint.h>

#include "tensor_intrin_dot_columns.c"
#include "tensor_intrin_features.h"

/* Whether `factor` times a distance is an offset of a load. */
TVMGEN_INLINE int tvmgen_is_offset(int32_t distance, int32_t factor) {
#if defined(TVMGEN_THUMB2)
  return __builtin_constant_p(distance) && distance >= 0 && distance * factor <= 4092;
#else
  (void)distance, (void)factor;
  return 0;
#endif
}

/* The offset of the next pixel or channel from a pointer that has moved on by four columns: in a
 * register if it is no offset of a load. */
#if defined(TVMGEN_DSP)
TVMGEN_INLINE int32_t tvmgen_load_offset(int32_t distance) {
  int32_t offset = distance - 4;
  if (!tvmgen_is_offset(distance, 1)) __asm__("" : "+r"(offset));
  return offset;
}
#endif

TVMGEN_INLINE void tvmgen_dot_step_1x1(const int8_t** x, const int8_t** w, int32_t offset,
                                       int32_t* acc) {
#if defined(TVMGEN_DSP)
  const uint32_t offsets = ((uint32_t)offset & 0xffff) * 0x10001;
  uint32_t x0l, wl, x0h, wh;
  __asm__ volatile(
      "ldr %[x0l], [%[px]], #4\n\t"
      "ldr %[wl], [%[pw]], #4\n\t"
      "sxtab16 %[x0h], %[o], %[x0l], ror #8\n\t"
      "sxtb16 %[wh], %[wl], ror #8\n\t"
      "sxtab16 %[x0l], %[o], %[x0l]\n\t"
      "sxtb16 %[wl], %[wl]\n\t"
      "smlad %[a0], %[x0h], %[wh], %[a0]\n\t"
      "smlad %[a0], %[x0l], %[wl], %[a0]"
      : [px] "+&r"(*x), [pw] "+&r"(*w), [a0] "+&r"(acc[0]), [x0l] "=&r"(x0l), [wl] "=&r"(wl),
        [x0h] "=&r"(x0h), [wh] "=&r"(wh)
      : [o] "r"(offsets)
      : "memory");
#else
  tvmgen_dot_column_1x1(*x, *w, offset, acc);
  tvmgen_dot_column_1x1(*x + 1, *w + 1, offset, acc);
  tvmgen_dot_column_1x1(*x + 2, *w + 2, offset, acc);
  tvmgen_dot_column_1x1(*x + 3, *w + 3, offset, acc);
  *x += 4;
  *w += 4;
#endif
}

TVMGEN_INLINE void tvmgen_dot_step_1x2(const int8_t** x, const int8_t** w, int32_t w_distance,
                                       int32_t offset, int32_t* acc) {
#if defined(TVMGEN_DSP)
  const uint32_t offsets = ((uint32_t)offset & 0xffff) * 0x10001;
  uint32_t x0l, wl, x0h, wh;
  __asm__ volatile(
      "ldr %[x0l], [%[px]], #4\n\t"
      "ldr %[wl], [%[pw]], #4\n\t"
      "sxtab16 %[x0h], %[o], %[x0l], ror #8\n\t"
      "sxtb16 %[wh], %[wl], ror #8\n\t"
      "sxtab16 %[x0l], %[o], %[x0l]\n\t"
      "sxtb16 %[wl], %[wl]\n\t"
      "smlad %[a0], %[x0h], %[wh], %[a0]\n\t"
      "ldr %[wh], [%[pw], %[WD1]]\n\t"
      "smlad %[a0], %[x0l], %[wl], %[a0]\n\t"
      "sxtb16 %[wl], %[wh], ror #8\n\t"
      "sxtb16 %[wh], %[wh]\n\t"
      "smlad %[a1], %[x0h], %[wl], %[a1]\n\t"
      "smlad %[a1], %[x0l], %[wh], %[a1]"
      : [px] "+&r"(*x), [pw] "+&r"(*w), [a0] "+&r"(acc[0]), [a1] "+&r"(acc[1]), [x0l] "=&r"(x0l),
        [wl] "=&r"(wl), [x0h] "=&r"(x0h), [wh] "=&r"(wh)
      : [WD1] "ri"(tvmgen_load_offset(w_distance)), [o] "r"(offsets)
      : "memory");
#else
  tvmgen_dot_column_1x2(*x, *w, w_distance, offset, acc);
  tvmgen_dot_column_1x2(*x + 1, *w + 1, w_distance, offset, acc);
  tvmgen_dot_column_1x2(*x + 2, *w + 2, w_distance, offset, acc);
  tvmgen_dot_column_1x2(*x + 3, *w + 3, w_distance, offset, acc);
  *x += 4;
  *w += 4;
#endif
}

TVMGEN_INLINE void tvmgen_dot_step_2x1(const int8_t** x, int32_t x_distance, const int8_t** w,
                                       int32_t offset, int32_t* acc) {
#if defined(TVMGEN_DSP)
  const uint32_t offsets = ((uint32_t)offset & 0xffff) * 0x10001;
  uint32_t x0l, wl, x0h, wh;
  __asm__ volatile(
      "ldr %[x0l], [%[px]], #4\n\t"
      "ldr %[wl], [%[pw]], #4\n\t"
      "sxtab16 %[x0h], %[o], %[x0l], ror #8\n\t"
      "sxtb16 %[wh], %[wl], ror #8\n\t"
      "sxtab16 %[x0l], %[o], %[x0l]\n\t"
      "sxtb16 %[wl], %[wl]\n\t"
      "smlad %[a0], %[x0h], %[wh], %[a0]\n\t"
      "ldr %[x0h], [%[px], %[XD1]]\n\t"
      "smlad %[a0], %[x0l], %[wl], %[a0]\n\t"
      "sxtab16 %[x0l], %[o], %[x0h], ror #8\n\t"
      "sxtab16 %[x0h], %[o], %[x0h]\n\t"
      "smlad %[a1], %[x0l], %[wh], %[a1]\n\t"
      "smlad %[a1], %[x0h], %[wl], %[a1]"
      : [px] "+&r"(*x), [pw] "+&r"(*w), [a0] "+&r"(acc[0]), [a1] "+&r"(acc[1]), [x0l] "=&r"(x0l),
        [wl] "=&r"(wl), [x0h] "=&r"(x0h), [wh] "=&r"(wh)
      : [XD1] "ri"(tvmgen_load_offset(x_distance)), [o] "r"(offsets)
      : "memory");
#else
  tvmgen_dot_column_2x1(*x, x_distance, *w, offset, acc);
  tvmgen_dot_column_2x1(*x + 1, x_distance, *w + 1, offset, acc);
  tvmgen_dot_column_2x1(*x + 2, x_distance, *w + 2, offset, acc);
  tvmgen_dot_column_2x1(*x + 3, x_distance, *w + 3, offset, acc);
  *x += 4;
  *w += 4;
#endif
}

TVMGEN_INLINE void tvmgen_dot_step_2x2(const int8_t** x, int32_t x_distance, const int8_t** w,
                                       int32_t w_distance, int32_t offset, int32_t* acc) {
#if defined(TVMGEN_DSP)
  if (!(tvmgen_is_offset(x_distance, 1) && tvmgen_is_offset(w_distance, 1))) {
    const int8_t *x1 = *x + x_distance, *w1 = *w;
    tvmgen_dot_step_1x2(x, w, w_distance, offset, acc);
    tvmgen_dot_step_1x2(&x1, &w1, w_distance, offset, acc + 2);
    return;
  }
  const uint32_t offsets = ((uint32_t)offset & 0xffff) * 0x10001;
  uint32_t x0l, wl, x0h, wh, x1l, x1h;
  __asm__ volatile(
      "ldr %[x0l], [%[px]], #4\n\t"
      "ldr %[wl], [%[pw]], #4\n\t"
      "sxtab16 %[x0h], %[o], %[x0l], ror #8\n\t"
      "sxtb16 %[wh], %[wl], ror #8\n\t"
      "ldr %[x1l], [%[px], %[XD1]]\n\t"
      "sxtb16 %[wl], %[wl]\n\t"
      "sxtab16 %[x0l], %[o], %[x0l]\n\t"
      "smlad %[a0], %[x0h], %[wh], %[a0]\n\t"
      "sxtab16 %[x1h], %[o], %[x1l], ror #8\n\t"
      "smlad %[a0], %[x0l], %[wl], %[a0]\n\t"
      "smlad %[a2], %[x1h], %[wh], %[a2]\n\t"
      "sxtab16 %[x1l], %[o], %[x1l]\n\t"
      "ldr %[wh], [%[pw], %[WD1]]\n\t"
      "smlad %[a2], %[x1l], %[wl], %[a2]\n\t"
      "sxtb16 %[wl], %[wh], ror #8\n\t"
      "sxtb16 %[wh], %[wh]\n\t"
      "smlad %[a3], %[x1h], %[wl], %[a3]\n\t"
      "smlad %[a1], %[x0h], %[wl], %[a1]\n\t"
      "smlad %[a1], %[x0l], %[wh], %[a1]\n\t"
      "smlad %[a3], %[x1l], %[wh], %[a3]"
      : [px] "+&r"(*x), [pw] "+&r"(*w), [a0] "+&r"(acc[0]), [a1] "+&r"(acc[1]), [a2] "+&r"(acc[2]),
        [a3] "+&r"(acc[3]), [x0l] "=&r"(x0l), [wl] "=&r"(wl), [x0h] "=&r"(x0h), [wh] "=&r"(wh),
        [x1l] "=&r"(x1l), [x1h] "=&r"(x1h)
      : [XD1] "i"(x_distance - 4), [WD1] "i"(w_distance - 4), [o] "r"(offsets)
      : "memory");
#else
  tvmgen_dot_column_2x2(*x, x_distance, *w, w_distance, offset, acc);
  tvmgen_dot_column_2x2(*x + 1, x_distance, *w + 1, w_distance, offset, acc);
  tvmgen_dot_column_2x2(*x + 2, x_distance, *w + 2, w_distance, offset, acc);
  tvmgen_dot_column_2x2(*x + 3, x_distance, *w + 3, w_distance, offset, acc);
  *x += 4;
  *w += 4;
#endif
}

TVMGEN_INLINE void tvmgen_dot_step_1x4(const int8_t** x, const int8_t** w, int32_t w_distance,
                                       int32_t offset, int32_t* acc) {
#if defined(TVMGEN_DSP)
  if (!tvmgen_is_offset(w_distance, 3)) {
    const int8_t *x1 = *x, *w1 = *w + 2 * w_distance;
    tvmgen_dot_step_1x2(x, w, w_distance, offset, acc);
    tvmgen_dot_step_1x2(&x1, &w1, w_distance, offset, acc + 2);
    return;
  }
  const uint32_t offsets = ((uint32_t)offset & 0xffff) * 0x10001;
  uint32_t x0l, wl, x0h, wh;
  __asm__ volatile(
      "ldr %[x0l], [%[px]], #4\n\t"
      "ldr %[wl], [%[pw]], #4\n\t"
      "sxtab16 %[x0h], %[o], %[x0l], ror #8\n\t"
      "sxtb16 %[wh], %[wl], ror #8\n\t"
      "sxtab16 %[x0l], %[o], %[x0l]\n\t"
      "sxtb16 %[wl], %[wl]\n\t"
      "smlad %[a0], %[x0h], %[wh], %[a0]\n\t"
      "ldr %[wh], [%[pw], %[WD1]]\n\t"
      "smlad %[a0], %[x0l], %[wl], %[a0]\n\t"
      "sxtb16 %[wl], %[wh], ror #8\n\t"
      "sxtb16 %[wh], %[wh]\n\t"
      "smlad %[a1], %[x0h], %[wl], %[a1]\n\t"
      "ldr %[wl], [%[pw], %[WD2]]\n\t"
      "smlad %[a1], %[x0l], %[wh], %[a1]\n\t"
      "sxtb16 %[wh], %[wl], ror #8\n\t"
      "sxtb16 %[wl], %[wl]\n\t"
      "smlad %[a2], %[x0h], %[wh], %[a2]\n\t"
      "ldr %[wh], [%[pw], %[WD3]]\n\t"
      "smlad %[a2], %[x0l], %[wl], %[a2]\n\t"
      "sxtb16 %[wl], %[wh], ror #8\n\t"
      "sxtb16 %[wh], %[wh]\n\t"
      "smlad %[a3], %[x0h], %[wl], %[a3]\n\t"
      "smlad %[a3], %[x0l], %[wh], %[a3]"
      : [px] "+&r"(*x), [pw] "+&r"(*w), [a0] "+&r"(acc[0]), [a1] "+&r"(acc[1]), [a2] "+&r"(acc[2]),
        [a3] "+&r"(acc[3]), [x0l] "=&r"(x0l), [wl] "=&r"(wl), [x0h] "=&r"(x0h), [wh] "=&r"(wh)
      : [WD1] "i"(w_distance - 4), [WD2] "i"(2 * w_distance - 4), [WD3] "i"(3 * w_distance - 4),
        [o] "r"(offsets)
      : "memory");
#else
  tvmgen_dot_column_1x4(*x, *w, w_distance, offset, acc);
  tvmgen_dot_column_1x4(*x + 1, *w + 1, w_distance, offset, acc);
  tvmgen_dot_column_1x4(*x + 2, *w + 2, w_distance, offset, acc);
  tvmgen_dot_column_1x4(*x + 3, *w + 3, w_distance, offset, acc);
  *x += 4;
  *w += 4;
#endif
}

TVMGEN_INLINE void tvmgen_dot_step_4x1(const int8_t** x, int32_t x_distance, const int8_t** w,
                                       int32_t offset, int32_t* acc) {
#if defined(TVMGEN_DSP)
  if (!tvmgen_is_offset(x_distance, 3)) {
    const int8_t *x1 = *x + 2 * x_distance, *w1 = *w;
    tvmgen_dot_step_2x1(x, x_distance, w, offset, acc);
    tvmgen_dot_step_2x1(&x1, x_distance, &w1, offset, acc + 2);
    return;
  }
  const uint32_t offsets = ((uint32_t)offset & 0xffff) * 0x10001;
  uint32_t x0l, wl, x0h, wh;
  __asm__ volatile(
      "ldr %[x0l], [%[px]], #4\n\t"
      "ldr %[wl], [%[pw]], #4\n\t"
      "sxtab16 %[x0h], %[o], %[x0l], ror #8\n\t"
      "sxtb16 %[wh], %[wl], ror #8\n\t"
      "sxtab16 %[x0l], %[o], %[x0l]\n\t"
      "sxtb16 %[wl], %[wl]\n\t"
      "smlad %[a0], %[x0h], %[wh], %[a0]\n\t"
      "ldr %[x0h], [%[px], %[XD1]]\n\t"
      "smlad %[a0], %[x0l], %[wl], %[a0]\n\t"
      "sxtab16 %[x0l], %[o], %[x0h], ror #8\n\t"
      "sxtab16 %[x0h], %[o], %[x0h]\n\t"
      "smlad %[a1], %[x0l], %[wh], %[a1]\n\t"
      "ldr %[x0l], [%[px], %[XD2]]\n\t"
      "smlad %[a1], %[x0h], %[wl], %[a1]\n\t"
      "sxtab16 %[x0h], %[o], %[x0l], ror #8\n\t"
      "sxtab16 %[x0l], %[o], %[x0l]\n\t"
      "smlad %[a2], %[x0h], %[wh], %[a2]\n\t"
      "ldr %[x0h], [%[px], %[XD3]]\n\t"
      "smlad %[a2], %[x0l], %[wl], %[a2]\n\t"
      "sxtab16 %[x0l], %[o], %[x0h], ror #8\n\t"
      "sxtab16 %[x0h], %[o], %[x0h]\n\t"
      "smlad %[a3], %[x0l], %[wh], %[a3]\n\t"
      "smlad %[a3], %[x0h], %[wl], %[a3]"
      : [px] "+&r"(*x), [pw] "+&r"(*w), [a0] "+&r"(acc[0]), [a1] "+&r"(acc[1]), [a2] "+&r"(acc[2]),
        [a3] "+&r"(acc[3]), [x0l] "=&r"(x0l), [wl] "=&r"(wl), [x0h] "=&r"(x0h), [wh] "=&r"(wh)
      : [XD1] "i"(x_distance - 4), [XD2] "i"(2 * x_distance - 4), [XD3] "i"(3 * x_distance - 4),
        [o] "r"(offsets)
      : "memory");
#else
  tvmgen_dot_column_4x1(*x, x_distance, *w, offset, acc);
  tvmgen_dot_column_4x1(*x + 1, x_distance, *w + 1, offset, acc);
  tvmgen_dot_column_4x1(*x + 2, x_distance, *w + 2, offset, acc);
  tvmgen_dot_column_4x1(*x + 3, x_distance, *w + 3, offset, acc);
  *x += 4;
  *w += 4;
#endif
}

/* The products of four columns and the weights of a channel: a block of its own, so that compilers
 * may keep some of the sums elsewhere where registers are few. No sum is known to be what xl and xh
 * hold, so it has a register of its own. */
#if defined(TVMGEN_DSP)
TVMGEN_INLINE void tvmgen_dot_words(const int8_t* w, int32_t distance, uint32_t xl, uint32_t xh,
                                    int32_t* acc) {
  uint32_t wl, wh;
  __asm__ volatile(
      "ldr %[wl], [%[pw], %[WD]]\n\t"
      "sxtb16 %[wh], %[wl], ror #8\n\t"
      "sxtb16 %[wl], %[wl]\n\t"
      "smlad %[a], %[xh], %[wh], %[a]\n\t"
      "smlad %[a], %[xl], %[wl], %[a]"
      : [a] "+r"(*acc), [wl] "=&r"(wl), [wh] "=&r"(wh)
      : [pw] "r"(w), [WD] "i"(distance), [xl] "r"(xl), [xh] "r"(xh)
      : "memory");
}
#endif

TVMGEN_INLINE void tvmgen_dot_step_1x6(const int8_t** x, const int8_t** w, int32_t w_distance,
                                       int32_t offset, int32_t* acc) {
#if defined(TVMGEN_DSP)
  if (!tvmgen_is_offset(w_distance, 5)) {
    const int8_t *x1 = *x, *w1 = *w + 4 * w_distance;
    tvmgen_dot_step_1x4(x, w, w_distance, offset, acc);
    tvmgen_dot_step_1x2(&x1, &w1, w_distance, offset, acc + 4);
    return;
  }
  const uint32_t offsets = ((uint32_t)offset & 0xffff) * 0x10001;
  uint32_t xl, xh, wl, wh;
  __asm__ volatile(
      "ldr %[xl], [%[px]], #4\n\t"
      "ldr %[wl], [%[pw]], #4\n\t"
      "sxtab16 %[xh], %[o], %[xl], ror #8\n\t"
      "sxtb16 %[wh], %[wl], ror #8\n\t"
      "sxtab16 %[xl], %[o], %[xl]\n\t"
      "sxtb16 %[wl], %[wl]\n\t"
      "smlad %[a], %[xh], %[wh], %[a]\n\t"
      "smlad %[a], %[xl], %[wl], %[a]"
      : [px] "+&r"(*x), [pw] "+&r"(*w), [a] "+&r"(acc[0]), [xl] "=&r"(xl), [xh] "=&r"(xh),
        [wl] "=&r"(wl), [wh] "=&r"(wh)
      : [o] "r"(offsets)
      : "memory");
  tvmgen_dot_words(*w, w_distance - 4, xl, xh, &acc[1]);
  tvmgen_dot_words(*w, 2 * w_distance - 4, xl, xh, &acc[2]);
  tvmgen_dot_words(*w, 3 * w_distance - 4, xl, xh, &acc[3]);
  tvmgen_dot_words(*w, 4 * w_distance - 4, xl, xh, &acc[4]);
  tvmgen_dot_words(*w, 5 * w_distance - 4, xl, xh, &acc[5]);
#else
  tvmgen_dot_column_1x6(*x, *w, w_distance, offset, acc);
  tvmgen_dot_column_1x6(*x + 1, *w + 1, w_distance, offset, acc);
  tvmgen_dot_column_1x6(*x + 2, *w + 2, w_distance, offset, acc);
  tvmgen_dot_column_1x6(*x + 3, *w + 3, w_distance, offset, acc);
  *x += 4;
  *w += 4;
#endif
}
