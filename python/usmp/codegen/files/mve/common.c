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
#pragma once

#include <stdint.h>
#include <string.h>

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
#define TVMGEN_MVE_SHARED static __attribute__((noinline, unused))
#else
#define TVMGEN_MVE_PORTABLE static inline
#define TVMGEN_MVE_SHARED static inline
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

/* Fills r1 bytes at r0 with r2. */
#define TVMGEN_MVE_FILL     \
  "push {r4, lr}\n"         \
  "wlstp.8 lr, r1, 2f\n"    \
  "vdup.8 q0, r2\n"         \
  "1:\n"                    \
  "vstrb.8 q0, [r0], #16\n" \
  "letp lr, 1b\n"           \
  "2:\n"                    \
  "pop {r4, pc}\n"

/* Copies r2 bytes from r1 to r0. */
#define TVMGEN_MVE_COPY     \
  "push {r4, lr}\n"         \
  "wlstp.8 lr, r2, 2f\n"    \
  "1:\n"                    \
  "vldrb.8 q0, [r1], #16\n" \
  "vstrb.8 q0, [r0], #16\n" \
  "letp lr, 1b\n"           \
  "2:\n"                    \
  "pop {r4, pc}\n"

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
  const int32_t high = (int32_t)(((int64_t)biased * multiplier + 0x40000000) >> 31);
  const int32_t half = ((int32_t)1 << (shift - 1)) - (up ? 0 : high < 0);
  return (high + half) >> shift;
}

TVMGEN_MVE_PORTABLE int8_t tvmgen_mve_limited(int32_t value, int32_t low, int32_t high) {
  return (int8_t)(value < low ? low : value > high ? high : value);
}

TVMGEN_MVE_FUNCTION void tvmgen_mve_fill(void* to, int32_t bytes, int32_t value) {
#if TVMGEN_MVE
  __asm__(TVMGEN_MVE_FILL);
#else
  for (int32_t i = 0; i < bytes; ++i) ((int8_t*)to)[i] = (int8_t)value;
#endif
}

/* In this order, so that `to` may lie before `from` in one memory. */
TVMGEN_MVE_FUNCTION void tvmgen_mve_copy(void* to, const void* from, int32_t bytes) {
#if TVMGEN_MVE
  __asm__(TVMGEN_MVE_COPY);
#else
  memmove(to, from, (size_t)bytes);
#endif
}

/* Convolution of pixels in a line, for channels of which four at a time have weights
 * [rows][columns, the last of them, up to 16, before the others][4][16]; the last columns of
 * several rows, or if they are more than eight, are filled up with zeros to 16, others take [4][8].
 * Four channels of `at_once` pixels, one or two, are computed before any of them is stored. With a
 * `copy`, pixels that are computed at once are all in y, and are copied there before the next. */
TVMGEN_MVE_PORTABLE void tvmgen_mve_conv2d(const int8_t* x, const int8_t* w, const int32_t* records,
                                           int8_t* y, int32_t x_distance, int32_t y_distance,
                                           int32_t pixels, int32_t channels, int32_t columns,
                                           int32_t rows, int32_t row_distance, int32_t zero_point,
                                           int32_t low, int32_t high, int32_t at_once, int8_t* copy,
                                           int32_t up) {
  const int32_t whole = (columns - 1) / 16 * 16;
  const int32_t size = rows == 1 && columns - whole <= 8 ? 8 : 16;
  for (int32_t pixel = 0; pixel < pixels; pixel += at_once) {
    int8_t* const to = copy ? y : y + pixel * y_distance;
    for (int32_t group = 0; group * 4 < channels; ++group) {
      const int32_t some = channels - group * 4 < 4 ? channels - group * 4 : 4;
      const int32_t* const record = records + group * 8;
      int32_t sums[8];
      for (int32_t i = 0; i < 4 * at_once; ++i) {
        sums[i] = 0;
        for (int32_t row = 0; row < rows; ++row) {
          const int8_t* const from = x + (pixel + i / 4) * x_distance + row * row_distance;
          const int8_t* const last = w + (group * rows + row) * 4 * (whole + size);
          const int8_t* const by = last + 4 * size + i % 4 * 16;
          for (int32_t k = 0; k < whole; ++k) sums[i] += from[k] * by[k / 16 * 64 + k % 16];
          for (int32_t k = whole; k < columns; ++k) {
            sums[i] += from[k] * last[i % 4 * size + k - whole];
          }
        }
      }
      for (int32_t i = 0; i < 4 * at_once; ++i) {
        const int32_t c = i % 4;
        if (c < some) {
          const int32_t value =
              tvmgen_mve_rescale(sums[i], record[c], record[c + 4], up) + zero_point;
          to[i / 4 * y_distance + group * 4 + c] = tvmgen_mve_limited(value, low, high);
        }
      }
    }
    for (int32_t i = 0; copy && i < at_once * y_distance; ++i) {
      copy[pixel * y_distance + i] = y[i];
    }
  }
}
