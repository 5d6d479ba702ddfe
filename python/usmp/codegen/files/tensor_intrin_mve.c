/* Quantized operators for cores with MVE, the vector extension that Arm sells as Helium.
 *
 * Each function is assembler where the core has MVE, and portable C with the same results
 * elsewhere. The assembler is of whole functions, called as others are (AAPCS): compilers that
 * allocate vector registers spill them, and fixed registers work with all options of a compiler.
 *
 * A sum with its bias, below 2^30, is multiplied by multiplier / 2^31 and shifted right by 1 to 22
 * bits, rounded as TFLite does: twice, and halves of the second time away from zero. Functions
 * whose name ends in _up round halves up there, which is the same if `low` is not below the zero
 * point. Four channels have a record of eight numbers: bias << 8 | (-shift & 255) of each,
 * multipliers.
 */
#include <stdint.h>

/* Jumps to places that are computed are none that branch protection allows. */
#if defined(__GNUC__) && defined(__ARM_FEATURE_MVE) && !defined(__ARM_BIG_ENDIAN) && \
    !defined(__ARM_FEATURE_BTI_DEFAULT) && !defined(TVMGEN_PORTABLE)
#define TVMGEN_MVE 1
#if defined(__clang__)
#define TVMGEN_MVE_FUNCTION static __attribute__((naked, noinline, unused, aligned(4)))
#else
#define TVMGEN_MVE_FUNCTION static __attribute__((naked, noipa, unused, aligned(4)))
#endif
#pragma GCC diagnostic ignored "-Wunused-parameter"
#else
#define TVMGEN_MVE 0
#define TVMGEN_MVE_FUNCTION static inline
#endif

#if defined(__GNUC__)
#define TVMGEN_MVE_PORTABLE static inline __attribute__((unused))
#else
#define TVMGEN_MVE_PORTABLE static inline
#endif

/* Keeps all registers that a function must keep, and makes room for 40 bytes; from sp + 144 on are
 * the arguments after the first four. */
#define TVMGEN_MVE_ENTER \
  "push {r4-r12, lr}\n"  \
  "vpush {d8-d15}\n"     \
  "sub sp, #40\n"

#define TVMGEN_MVE_LEAVE \
  "add sp, #40\n"        \
  "vpop {d8-d15}\n"      \
  "pop {r4-r12, pc}\n"

/* Rounds halves of the sums away from zero, if sums are shifted right after it. */
#define TVMGEN_MVE_HALF_AWAY   \
  "vshr.s32 q3, \\sums, #31\n" \
  "vadd.i32 \\sums, \\sums, q3\n"

#define TVMGEN_MVE_HALF_UP ""

/* TFLite's rescaling, up to the zero point. */
TVMGEN_MVE_PORTABLE int32_t tvmgen_mve_rescale(int32_t sum, int32_t bias_and_shift,
                                               int32_t multiplier, int32_t up) {
  const int32_t biased = sum + (bias_and_shift >> 8);
  const int32_t shift = -bias_and_shift & 255;
  const int32_t high = (int32_t)(((int64_t)biased * multiplier + (1 << 30)) >> 31);
  const int32_t half = (1 << (shift - 1)) - (up ? 0 : high < 0);
  return (high + half) >> shift;
}
