/* Four columns of products at distances that are no constants, or too large for an instruction.
 *
 * As the steps of tensor_intrin_dot_steps.c, with distances in registers; compilers that keep a
 * frame pointer have none left for more than ten operands. */
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
