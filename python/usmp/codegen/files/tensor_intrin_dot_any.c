/* Four columns of products at distances that are no constants, or too large for an instruction.
 *
 * As the steps of tensor_intrin_dot_steps.c, with distances in registers; few others are left, and
 * an operand more than thirteen would have none. */
#include <stdint.h>

#include "tensor_intrin_features.h"

#if defined(TVMGEN_DSP)
TVMGEN_INLINE void tvmgen_dot_any_2x1(const int8_t** x, int32_t x_distance, const int8_t** w,
                                      int32_t offset, int32_t* acc) {
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
      "ldr %[x0h], [%[px], %[xd]]\n\t"
      "smlad %[a0], %[x0l], %[wl], %[a0]\n\t"
      "sxtab16 %[x0l], %[o], %[x0h], ror #8\n\t"
      "sxtab16 %[x0h], %[o], %[x0h]\n\t"
      "smlad %[a1], %[x0l], %[wh], %[a1]\n\t"
      "smlad %[a1], %[x0h], %[wl], %[a1]"
      : [px] "+&r"(*x), [pw] "+&r"(*w), [a0] "+&r"(acc[0]), [a1] "+&r"(acc[1]), [x0l] "=&r"(x0l),
        [wl] "=&r"(wl), [x0h] "=&r"(x0h), [wh] "=&r"(wh)
      : [xd] "r"(x_distance - 4), [o] "r"(offsets)
      : "memory");
}
#endif

#if defined(TVMGEN_DSP)
TVMGEN_INLINE void tvmgen_dot_any_1x2(const int8_t** x, const int8_t** w, int32_t w_distance,
                                      int32_t offset, int32_t* acc) {
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
      "ldr %[wh], [%[pw], %[wd]]\n\t"
      "smlad %[a0], %[x0l], %[wl], %[a0]\n\t"
      "sxtb16 %[wl], %[wh], ror #8\n\t"
      "sxtb16 %[wh], %[wh]\n\t"
      "smlad %[a1], %[x0h], %[wl], %[a1]\n\t"
      "smlad %[a1], %[x0l], %[wh], %[a1]"
      : [px] "+&r"(*x), [pw] "+&r"(*w), [a0] "+&r"(acc[0]), [a1] "+&r"(acc[1]), [x0l] "=&r"(x0l),
        [wl] "=&r"(wl), [x0h] "=&r"(x0h), [wh] "=&r"(wh)
      : [wd] "r"(w_distance - 4), [o] "r"(offsets)
      : "memory");
}
#endif

/* The fourth channel is twice the distance behind the second. */
#if defined(TVMGEN_DSP)
TVMGEN_INLINE void tvmgen_dot_any_1x4(const int8_t** x, const int8_t** w, int32_t w_distance,
                                      int32_t offset, int32_t* acc) {
  const uint32_t offsets = ((uint32_t)offset & 0xffff) * 0x10001;
  uint32_t x0l, wl, x0h, wh;
  __asm__ volatile(
      "ldr %[x0l], [%[px]], #4\n\t"
      "ldr %[wl], [%[pw]]\n\t"
      "sxtab16 %[x0h], %[o], %[x0l], ror #8\n\t"
      "sxtb16 %[wh], %[wl], ror #8\n\t"
      "sxtab16 %[x0l], %[o], %[x0l]\n\t"
      "sxtb16 %[wl], %[wl]\n\t"
      "smlad %[a0], %[x0h], %[wh], %[a0]\n\t"
      "ldr %[wh], [%[pw], %[wd]]\n\t"
      "smlad %[a0], %[x0l], %[wl], %[a0]\n\t"
      "sxtb16 %[wl], %[wh], ror #8\n\t"
      "sxtb16 %[wh], %[wh]\n\t"
      "smlad %[a1], %[x0h], %[wl], %[a1]\n\t"
      "ldr %[wl], [%[pw], %[wd], lsl #1]\n\t"
      "smlad %[a1], %[x0l], %[wh], %[a1]\n\t"
      "sxtb16 %[wh], %[wl], ror #8\n\t"
      "sxtb16 %[wl], %[wl]\n\t"
      "smlad %[a2], %[x0h], %[wh], %[a2]\n\t"
      "add %[wh], %[pw], %[wd]\n\t"
      "ldr %[wh], [%[wh], %[wd], lsl #1]\n\t"
      "smlad %[a2], %[x0l], %[wl], %[a2]\n\t"
      "add %[pw], %[pw], #4\n\t"
      "sxtb16 %[wl], %[wh], ror #8\n\t"
      "sxtb16 %[wh], %[wh]\n\t"
      "smlad %[a3], %[x0h], %[wl], %[a3]\n\t"
      "smlad %[a3], %[x0l], %[wh], %[a3]"
      : [px] "+&r"(*x), [pw] "+&r"(*w), [a0] "+&r"(acc[0]), [a1] "+&r"(acc[1]), [a2] "+&r"(acc[2]),
        [a3] "+&r"(acc[3]), [x0l] "=&r"(x0l), [wl] "=&r"(wl), [x0h] "=&r"(x0h), [wh] "=&r"(wh)
      : [wd] "r"(w_distance), [o] "r"(offsets)
      : "memory");
}
#endif

/* One distance for pixels and channels, as in convolutions of single pixels. */
#if defined(TVMGEN_DSP)
TVMGEN_INLINE void tvmgen_dot_equal_2x2(const int8_t** x, const int8_t** w, int32_t distance,
                                        int32_t offset, int32_t* acc) {
  const uint32_t offsets = ((uint32_t)offset & 0xffff) * 0x10001;
  uint32_t x0l, x0h, x1l, x1h, wl, wh;
  __asm__ volatile(
      "ldr %[x0l], [%[px]], #4\n\t"
      "ldr %[wl], [%[pw]], #4\n\t"
      "ldr %[wh], %[o]\n\t"
      "ldr %[x1l], [%[px], %[d]]\n\t"
      "sxtab16 %[x0h], %[wh], %[x0l], ror #8\n\t"
      "sxtab16 %[x0l], %[wh], %[x0l]\n\t"
      "sxtab16 %[x1h], %[wh], %[x1l], ror #8\n\t"
      "sxtab16 %[x1l], %[wh], %[x1l]\n\t"
      "sxtb16 %[wh], %[wl], ror #8\n\t"
      "sxtb16 %[wl], %[wl]\n\t"
      "smlad %[a0], %[x0h], %[wh], %[a0]\n\t"
      "smlad %[a2], %[x1h], %[wh], %[a2]\n\t"
      "ldr %[wh], [%[pw], %[d]]\n\t"
      "smlad %[a0], %[x0l], %[wl], %[a0]\n\t"
      "smlad %[a2], %[x1l], %[wl], %[a2]\n\t"
      "sxtb16 %[wl], %[wh], ror #8\n\t"
      "sxtb16 %[wh], %[wh]\n\t"
      "smlad %[a1], %[x0h], %[wl], %[a1]\n\t"
      "smlad %[a3], %[x1h], %[wl], %[a3]\n\t"
      "smlad %[a1], %[x0l], %[wh], %[a1]\n\t"
      "smlad %[a3], %[x1l], %[wh], %[a3]"
      : [px] "+&r"(*x), [pw] "+&r"(*w), [a0] "+&r"(acc[0]), [a1] "+&r"(acc[1]), [a2] "+&r"(acc[2]),
        [a3] "+&r"(acc[3]), [x0l] "=&r"(x0l), [x0h] "=&r"(x0h), [x1l] "=&r"(x1l), [x1h] "=&r"(x1h),
        [wl] "=&r"(wl), [wh] "=&r"(wh)
      : [d] "r"(distance - 4), [o] "m"(offsets)
      : "memory");
}
#endif

/* Two distances: half of the columns first, then the others, so that fewer registers do. */
#if defined(TVMGEN_DSP)
TVMGEN_INLINE void tvmgen_dot_any_2x2(const int8_t** x, int32_t x_distance, const int8_t** w,
                                      int32_t w_distance, int32_t offset, int32_t* acc) {
  const uint32_t offsets = ((uint32_t)offset & 0xffff) * 0x10001;
  uint32_t x0, x1, w0;
  __asm__ volatile(
      "ldr %[x0], [%[px]], #4\n\t"
      "ldr %[w0], [%[pw]], #4\n\t"
      "ldr %[x1], [%[px], %[xd]]\n\t"
      "sxtab16 %[x0], %[o], %[x0], ror #8\n\t"
      "sxtb16 %[w0], %[w0], ror #8\n\t"
      "sxtab16 %[x1], %[o], %[x1], ror #8\n\t"
      "smlad %[a0], %[x0], %[w0], %[a0]\n\t"
      "smlad %[a2], %[x1], %[w0], %[a2]\n\t"
      "ldr %[w0], [%[pw], %[wd]]\n\t"
      "sxtb16 %[w0], %[w0], ror #8\n\t"
      "smlad %[a1], %[x0], %[w0], %[a1]\n\t"
      "ldr %[x0], [%[px], #-4]\n\t"
      "smlad %[a3], %[x1], %[w0], %[a3]\n\t"
      "ldr %[w0], [%[pw], #-4]\n\t"
      "ldr %[x1], [%[px], %[xd]]\n\t"
      "sxtab16 %[x0], %[o], %[x0]\n\t"
      "sxtb16 %[w0], %[w0]\n\t"
      "sxtab16 %[x1], %[o], %[x1]\n\t"
      "smlad %[a0], %[x0], %[w0], %[a0]\n\t"
      "smlad %[a2], %[x1], %[w0], %[a2]\n\t"
      "ldr %[w0], [%[pw], %[wd]]\n\t"
      "sxtb16 %[w0], %[w0]\n\t"
      "smlad %[a1], %[x0], %[w0], %[a1]\n\t"
      "smlad %[a3], %[x1], %[w0], %[a3]"
      : [px] "+&r"(*x), [pw] "+&r"(*w), [a0] "+&r"(acc[0]), [a1] "+&r"(acc[1]), [a2] "+&r"(acc[2]),
        [a3] "+&r"(acc[3]), [x0] "=&r"(x0), [x1] "=&r"(x1), [w0] "=&r"(w0)
      : [xd] "r"(x_distance - 4), [wd] "r"(w_distance - 4), [o] "r"(offsets)
      : "memory");
}
#endif
