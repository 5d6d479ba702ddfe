/* Depthwise convolution for cores with MVE. */
#include "tensor_intrin_mve.c"

/* The products of two taps, at x0 and x1, for 16 channels, with weights at r9: they fit 16 bits,
 * since no weight is -128. Their sums are in q0: of channels 0, 4, 8, 12; q1: of 2, 6, 10, 14; q2:
 * of 1, 5, 9, 13; q3: of 3, 7, 11, 15. */
#define TVMGEN_MVE_DEPTHWISE_FIRST(load, x0, x1) \
  load " q6, [" x0                               \
       "], #16\n"                                \
       "vldrb.8 q7, [r9], #16\n"                 \
       "vmullb.s8 q4, q6, q7\n"                  \
       "vmullt.s8 q5, q6, q7\n" load " q6, [" x1 \
       "], #16\n"                                \
       "vldrb.8 q7, [r9], #16\n"                 \
       "vmullb.s8 q0, q6, q7\n"                  \
       "vmullt.s8 q1, q6, q7\n"                  \
       "vadd.i16 q4, q4, q0\n"                   \
       "vadd.i16 q5, q5, q1\n"                   \
       "vmovlb.s16 q0, q4\n"                     \
       "vmovlt.s16 q1, q4\n"                     \
       "vmovlb.s16 q2, q5\n"                     \
       "vmovlt.s16 q3, q5\n"

#define TVMGEN_MVE_DEPTHWISE_ADD \
  "vmovlb.s16 q6, q4\n"          \
  "vadd.i32 q0, q0, q6\n"        \
  "vmovlt.s16 q7, q4\n"          \
  "vadd.i32 q1, q1, q7\n"        \
  "vmovlb.s16 q6, q5\n"          \
  "vadd.i32 q2, q2, q6\n"        \
  "vmovlt.s16 q7, q5\n"          \
  "vadd.i32 q3, q3, q7\n"

#define TVMGEN_MVE_DEPTHWISE_NEXT(load, x0, x1)  \
  load " q6, [" x0                               \
       "], #16\n"                                \
       "vldrb.8 q7, [r9], #16\n"                 \
       "vmullb.s8 q4, q6, q7\n"                  \
       "vmullt.s8 q5, q6, q7\n" load " q6, [" x1 \
       "], #16\n"                                \
       "vldrb.8 q7, [r9], #16\n"                 \
       "vmullb.s8 q7, q6, q7\n"                  \
       "vadd.i16 q4, q4, q7\n"                   \
       "vldrb.8 q7, [r9, #-16]\n"                \
       "vmullt.s8 q7, q6, q7\n"                  \
       "vadd.i16 q5, q5, q7\n" TVMGEN_MVE_DEPTHWISE_ADD

#define TVMGEN_MVE_DEPTHWISE_LAST(load, x0) \
  load " q6, [" x0                          \
       "], #16\n"                           \
       "vldrb.8 q7, [r9], #16\n"            \
       "vmullb.s8 q4, q6, q7\n"             \
       "vmullt.s8 q5, q6, q7\n" TVMGEN_MVE_DEPTHWISE_ADD

/* Rescales the sums with records at r10, adds the zero point in r12, and narrows; q0: 16 results.
 */
#define TVMGEN_MVE_DEPTHWISE_RESCALE(half) \
  ".irp sums, q0, q1, q2, q3\n"            \
  "vldrw.32 q6, [r10], #16\n"              \
  "vshr.s32 q7, q6, #8\n"                  \
  "vldrw.32 q5, [r10], #16\n"              \
  "vadd.i32 \\sums, \\sums, q7\n"          \
  "vqrdmulh.s32 \\sums, \\sums, q5\n" half \
  "vrshl.s32 \\sums, \\sums, q6\n"         \
  ".endr\n"                                \
  "vqmovnb.s32 q4, q0\n"                   \
  "vqmovnb.s32 q5, q2\n"                   \
  "vqmovnt.s32 q4, q1\n"                   \
  "vqmovnt.s32 q5, q3\n"                   \
  "vqadd.s16 q4, q4, r12\n"                \
  "vqadd.s16 q5, q5, r12\n"                \
  "vqmovnb.s16 q0, q4\n"                   \
  "vqmovnt.s16 q0, q5\n"

#define TVMGEN_MVE_DEPTHWISE_HALF_AWAY \
  "vshr.s32 q7, \\sums, #31\n"         \
  "vadd.i32 \\sums, \\sums, q7\n"

#define TVMGEN_MVE_DEPTHWISE_CLAMP \
  "vldrb.8 q4, [sp, #8]\n"         \
  "vldrb.8 q5, [sp, #24]\n"        \
  "vmax.s8 q0, q0, q4\n"           \
  "vmin.s8 q0, q0, q5\n"

/* With limits, and if these are those of 8 bits and the low one is the zero point. */
#define TVMGEN_MVE_DEPTHWISE_LIMITED \
  TVMGEN_MVE_DEPTHWISE_RESCALE(TVMGEN_MVE_DEPTHWISE_HALF_AWAY) TVMGEN_MVE_DEPTHWISE_CLAMP
#define TVMGEN_MVE_DEPTHWISE_RELU TVMGEN_MVE_DEPTHWISE_RESCALE("")

/* In memory: sp + 0: weights; 4: records; 8, 24: the limits sixteen times. */
#define TVMGEN_MVE_DEPTHWISE_BEGIN \
  TVMGEN_MVE_ENTER                 \
  "strd r1, r2, [sp]\n"            \
  "mov r11, r3\n"                  \
  "ldr r1, [sp, #160]\n"           \
  "vdup.8 q0, r1\n"                \
  "ldr r1, [sp, #164]\n"           \
  "vdup.8 q1, r1\n"                \
  "vstrb.8 q0, [sp, #8]\n"         \
  "vstrb.8 q1, [sp, #24]\n"

/* Of channels that are no multiple of four, numbers of 32 bits would be cut: the loop is of more,
 * and the bytes of the data and the output are chosen by themselves. */
#define TVMGEN_MVE_DEPTHWISE_ANY_PIXEL \
  "str r12, [sp, #160]\n"              \
  "add r12, #3\n"                      \
  "bic r12, #3\n"

#define TVMGEN_MVE_DEPTHWISE_ANY_LANES \
  "ldr r12, [sp, #160]\n"              \
  "vctp.8 r12\n"                       \
  "sub r12, #16\n"                     \
  "str r12, [sp, #160]\n"              \
  "ldr r12, [sp, #156]\n"

/* How data is loaded and outputs are stored, and what comes before a pixel and 16 of its channels.
 */
#define TVMGEN_MVE_DEPTHWISE_FOURS "vldrb.8", "vstrb.8", "", ""
#define TVMGEN_MVE_DEPTHWISE_ANY \
  "vpst\nvldrbt.8", "vpst\nvstrbt.8", TVMGEN_MVE_DEPTHWISE_ANY_PIXEL, TVMGEN_MVE_DEPTHWISE_ANY_LANES

/* Nine taps, at r0 to r8. */
#define TVMGEN_MVE_DEPTHWISE_9(load, store, pixel, lanes, rescale)                            \
  TVMGEN_MVE_DEPTHWISE_BEGIN                                                                  \
  "ldr r1, [sp, #148]\n"                                                                      \
  "add r2, r1, #15\n"                                                                         \
  "bic r2, #15\n"                                                                             \
  "ldr r3, [sp, #152]\n"                                                                      \
  "sub r3, r2\n"                                                                              \
  "str r3, [sp, #152]\n"                                                                      \
  "ldm r0, {r0-r8}\n"                                                                         \
  "1:\n"                                                                                      \
  "ldr r12, [sp, #148]\n" pixel                                                               \
  "dlstp.8 lr, r12\n"                                                                         \
  "ldrd r9, r10, [sp]\n"                                                                      \
  "ldr r12, [sp, #156]\n"                                                                     \
  "2:\n" lanes                                                                                \
  TVMGEN_MVE_DEPTHWISE_FIRST(load, "r0", "r1") TVMGEN_MVE_DEPTHWISE_NEXT(load, "r2", "r3")    \
      TVMGEN_MVE_DEPTHWISE_NEXT(load, "r4", "r5") TVMGEN_MVE_DEPTHWISE_NEXT(load, "r6", "r7") \
          TVMGEN_MVE_DEPTHWISE_LAST(load, "r8") rescale store                                 \
      " q0, [r11], #16\n"                                                                     \
      "letp lr, 2b\n"                                                                         \
      "ldr r9, [sp, #148]\n"                                                                  \
      "add r11, r9\n"                                                                         \
      "add r10, r9, #15\n"                                                                    \
      "bic r10, #15\n"                                                                        \
      "sub r11, r10\n"                                                                        \
      "ldr r9, [sp, #144]\n"                                                                  \
      "subs r9, #1\n"                                                                         \
      "str r9, [sp, #144]\n"                                                                  \
      "beq 3f\n"                                                                              \
      "ldr r9, [sp, #152]\n"                                                                  \
      "cmp r9, #0\n"                                                                          \
      "beq 1b\n"                                                                              \
      ".irp x, r0, r1, r2, r3, r4, r5, r6, r7, r8\n"                                          \
      "add \\x, r9\n"                                                                         \
      ".endr\n"                                                                               \
      "b 1b\n"                                                                                \
      "3:\n" TVMGEN_MVE_LEAVE

/* Any number of taps, at least two, whose places are read for each 16 channels, less r4. */
#define TVMGEN_MVE_DEPTHWISE_TAPS(load, store, pixel, lanes, rescale) \
  TVMGEN_MVE_DEPTHWISE_BEGIN                                          \
  "mov r8, r0\n" \
  "mov r4, #0\n" \
  "1:\n" \
  "ldr r12, [sp, #148]\n" \
  pixel \
  "dlstp.8 lr, r12\n" \
  "ldrd r9, r10, [sp]\n" \
  "ldr r12, [sp, #156]\n" \
  "mov r7, r4\n" \
  "2:\n" \
  lanes \
  "mov r1, r8\n" \
  "ldrd r2, r3, [r1], #8\n" \
  "add r2, r7\n" \
  "add r3, r7\n" \
  TVMGEN_MVE_DEPTHWISE_FIRST(load, "r2", "r3") \
  "ldr r6, [sp, #168]\n" \
  "subs r6, #3\n" \
  "ble 5f\n" \
  "3:\n" \
  "ldrd r2, r3, [r1], #8\n" \
  "add r2, r7\n" \
  "add r3, r7\n" \
  TVMGEN_MVE_DEPTHWISE_NEXT(load, "r2", "r3") \
  "subs r6, #2\n" \
  "bgt.w 3b\n" \
  "5:\n" \
  "bne 4f\n" \
  "ldr r2, [r1]\n" \
  "add r2, r7\n" \
  TVMGEN_MVE_DEPTHWISE_LAST(load, "r2") \
  "4:\n" \
  "add r7, #16\n" \
  rescale \
  store " q0, [r11], #16\n" \
  "letp lr, 2b\n" \
  "ldr r9, [sp, #148]\n" \
  "add r11, r9\n" \
  "add r10, r9, #15\n" \
  "bic r10, #15\n" \
  "sub r11, r10\n" \
  "ldr r9, [sp, #152]\n" \
  "add r4, r9\n" \
  "ldr r9, [sp, #144]\n" \
  "subs r9, #1\n" \
  "str r9, [sp, #144]\n" \
  "bne.w 1b\n" \
  TVMGEN_MVE_LEAVE

#define TVMGEN_MVE_DEPTHWISE_OF(taps, lanes, rescale) TVMGEN_MVE_DEPTHWISE_##taps(lanes, rescale)

/* Pixels in a line. Each tap begins at taps[tap], and `step` bytes later for the next pixel;
 * 16 channels have weights [taps][16] and four records, of channels 0, 4, 8, 12; of 2, 6, 10, 14;
 * of 1, 5, 9, 13; of 3, 7, 11, 15. `channels` is a multiple of four but for functions whose name
 * ends in _any. */
TVMGEN_MVE_PORTABLE void tvmgen_mve_depthwise_pixels(const int8_t* const* taps, const int8_t* w,
                                                     const int32_t* records, int8_t* y,
                                                     int32_t pixels, int32_t channels, int32_t step,
                                                     int32_t zero_point, int32_t low, int32_t high,
                                                     int32_t count, int32_t up) {
  for (int32_t pixel = 0; pixel < pixels; ++pixel) {
    for (int32_t c = 0; c < channels; ++c) {
      const int32_t quad = (c >> 1 & 1) + (c & 1) * 2;
      const int32_t* const record = records + c / 16 * 32 + quad * 8 + c % 16 / 4;
      int32_t sum = 0;
      for (int32_t tap = 0; tap < count; ++tap) {
        sum += taps[tap][pixel * step + c] * w[(c / 16 * count + tap) * 16 + c % 16];
      }
      sum = tvmgen_mve_rescale(sum, record[0], record[4], up) + zero_point;
      sum = sum < low ? low : sum;
      y[pixel * channels + c] = (int8_t)(sum > high ? high : sum);
    }
  }
}

TVMGEN_MVE_FUNCTION void tvmgen_mve_depthwise_9(const int8_t* const* taps, const int8_t* w,
                                                const int32_t* records, int8_t* y, int32_t pixels,
                                                int32_t channels, int32_t step, int32_t zero_point,
                                                int32_t low, int32_t high, int32_t count) {
#if TVMGEN_MVE
  __asm__(TVMGEN_MVE_DEPTHWISE_OF(9, TVMGEN_MVE_DEPTHWISE_FOURS, TVMGEN_MVE_DEPTHWISE_LIMITED));
#else
  tvmgen_mve_depthwise_pixels(taps, w, records, y, pixels, channels, step, zero_point, low, high,
                              count, 0);
#endif
}

TVMGEN_MVE_FUNCTION void tvmgen_mve_depthwise_9_relu(const int8_t* const* taps, const int8_t* w,
                                                     const int32_t* records, int8_t* y,
                                                     int32_t pixels, int32_t channels, int32_t step,
                                                     int32_t zero_point, int32_t low, int32_t high,
                                                     int32_t count) {
#if TVMGEN_MVE
  __asm__(TVMGEN_MVE_DEPTHWISE_OF(9, TVMGEN_MVE_DEPTHWISE_FOURS, TVMGEN_MVE_DEPTHWISE_RELU));
#else
  tvmgen_mve_depthwise_pixels(taps, w, records, y, pixels, channels, step, zero_point, low, high,
                              count, 1);
#endif
}

TVMGEN_MVE_FUNCTION void tvmgen_mve_depthwise_9_any(const int8_t* const* taps, const int8_t* w,
                                                    const int32_t* records, int8_t* y,
                                                    int32_t pixels, int32_t channels, int32_t step,
                                                    int32_t zero_point, int32_t low, int32_t high,
                                                    int32_t count) {
#if TVMGEN_MVE
  __asm__(TVMGEN_MVE_DEPTHWISE_OF(9, TVMGEN_MVE_DEPTHWISE_ANY, TVMGEN_MVE_DEPTHWISE_LIMITED));
#else
  tvmgen_mve_depthwise_pixels(taps, w, records, y, pixels, channels, step, zero_point, low, high,
                              count, 0);
#endif
}

TVMGEN_MVE_FUNCTION void tvmgen_mve_depthwise_taps(const int8_t* const* taps, const int8_t* w,
                                                   const int32_t* records, int8_t* y,
                                                   int32_t pixels, int32_t channels, int32_t step,
                                                   int32_t zero_point, int32_t low, int32_t high,
                                                   int32_t count) {
#if TVMGEN_MVE
  __asm__(TVMGEN_MVE_DEPTHWISE_OF(TAPS, TVMGEN_MVE_DEPTHWISE_FOURS, TVMGEN_MVE_DEPTHWISE_LIMITED));
#else
  tvmgen_mve_depthwise_pixels(taps, w, records, y, pixels, channels, step, zero_point, low, high,
                              count, 0);
#endif
}

TVMGEN_MVE_FUNCTION void tvmgen_mve_depthwise_taps_relu(const int8_t* const* taps, const int8_t* w,
                                                        const int32_t* records, int8_t* y,
                                                        int32_t pixels, int32_t channels,
                                                        int32_t step, int32_t zero_point,
                                                        int32_t low, int32_t high, int32_t count) {
#if TVMGEN_MVE
  __asm__(TVMGEN_MVE_DEPTHWISE_OF(TAPS, TVMGEN_MVE_DEPTHWISE_FOURS, TVMGEN_MVE_DEPTHWISE_RELU));
#else
  tvmgen_mve_depthwise_pixels(taps, w, records, y, pixels, channels, step, zero_point, low, high,
                              count, 1);
#endif
}

TVMGEN_MVE_FUNCTION void tvmgen_mve_depthwise_taps_any(const int8_t* const* taps, const int8_t* w,
                                                       const int32_t* records, int8_t* y,
                                                       int32_t pixels, int32_t channels,
                                                       int32_t step, int32_t zero_point,
                                                       int32_t low, int32_t high, int32_t count) {
#if TVMGEN_MVE
  __asm__(TVMGEN_MVE_DEPTHWISE_OF(TAPS, TVMGEN_MVE_DEPTHWISE_ANY, TVMGEN_MVE_DEPTHWISE_LIMITED));
#else
  tvmgen_mve_depthwise_pixels(taps, w, records, y, pixels, channels, step, zero_point, low, high,
                              count, 0);
#endif
}
