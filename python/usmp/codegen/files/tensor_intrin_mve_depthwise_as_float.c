/* Depthwise convolution, rescaled as floats, for cores with MVE of floats. */
#include "tensor_intrin_mve_as_float.c"
#include "tensor_intrin_mve_depthwise.c"

/* Rescales the sums with records at r10, adds the zero point in r12, narrows, and clamps; q0: 16
 * results. */
#define TVMGEN_MVE_DEPTHWISE_RESCALE_AS_FLOAT \
  ".irp sums, q0, q1, q2, q3\n" \
  "vldrw.32 q6, [r10], #16\n" \
  "vldrw.32 q5, [r10], #16\n" \
  "vadd.i32 \\sums, \\sums, q6\n" \
  TVMGEN_MVE_MULTIPLY_AS_FLOAT("\\sums", "q5") \
  ".endr\n" \
  "vqmovnb.s32 q4, q0\n"                   \
  "vqmovnb.s32 q5, q2\n"                   \
  "vqmovnt.s32 q4, q1\n"                   \
  "vqmovnt.s32 q5, q3\n"                   \
  "vqadd.s16 q4, q4, r12\n"                \
  "vqadd.s16 q5, q5, r12\n"                \
  "vqmovnb.s16 q0, q4\n"                   \
  "vqmovnt.s16 q0, q5\n" TVMGEN_MVE_DEPTHWISE_CLAMP

/* Nine taps, at r0 to r8. */
#define TVMGEN_MVE_DEPTHWISE_9_AS_FLOAT(load, store, pixel, lanes)                            \
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
          TVMGEN_MVE_DEPTHWISE_LAST(load, "r8") TVMGEN_MVE_DEPTHWISE_RESCALE_AS_FLOAT store   \
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
#define TVMGEN_MVE_DEPTHWISE_TAPS_AS_FLOAT(load, store, pixel, lanes) \
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
  TVMGEN_MVE_DEPTHWISE_RESCALE_AS_FLOAT \
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

#define TVMGEN_MVE_DEPTHWISE_AS_FLOAT(taps, lanes) TVMGEN_MVE_DEPTHWISE_##taps##_AS_FLOAT(lanes)

TVMGEN_MVE_PORTABLE void tvmgen_mve_depthwise_pixels_as_float(
    const int8_t* const* taps, const int8_t* w, const int32_t* records, int8_t* y, int32_t pixels,
    int32_t channels, int32_t step, int32_t zero_point, int32_t low, int32_t high, int32_t count) {
  for (int32_t pixel = 0; pixel < pixels; ++pixel) {
    for (int32_t c = 0; c < channels; ++c) {
      const int32_t quad = (c >> 1 & 1) + (c & 1) * 2;
      const int32_t* const record = records + c / 16 * 32 + quad * 8 + c % 16 / 4;
      int32_t sum = record[0];
      for (int32_t tap = 0; tap < count; ++tap) {
        sum += taps[tap][pixel * step + c] * w[(c / 16 * count + tap) * 16 + c % 16];
      }
      y[pixel * channels + c] = tvmgen_mve_limited_as_float(sum, record[4], zero_point, low, high);
    }
  }
}

TVMGEN_MVE_FLOAT_FUNCTION void tvmgen_mve_depthwise_9_as_float(
    const int8_t* const* taps, const int8_t* w, const int32_t* records, int8_t* y, int32_t pixels,
    int32_t channels, int32_t step, int32_t zero_point, int32_t low, int32_t high, int32_t count) {
#if TVMGEN_MVE_FLOAT
  __asm__(TVMGEN_MVE_DEPTHWISE_AS_FLOAT(9, TVMGEN_MVE_DEPTHWISE_FOURS));
#else
  tvmgen_mve_depthwise_pixels_as_float(taps, w, records, y, pixels, channels, step, zero_point, low,
                                       high, count);
#endif
}

TVMGEN_MVE_FLOAT_FUNCTION void tvmgen_mve_depthwise_9_any_as_float(
    const int8_t* const* taps, const int8_t* w, const int32_t* records, int8_t* y, int32_t pixels,
    int32_t channels, int32_t step, int32_t zero_point, int32_t low, int32_t high, int32_t count) {
#if TVMGEN_MVE_FLOAT
  __asm__(TVMGEN_MVE_DEPTHWISE_AS_FLOAT(9, TVMGEN_MVE_DEPTHWISE_ANY));
#else
  tvmgen_mve_depthwise_pixels_as_float(taps, w, records, y, pixels, channels, step, zero_point, low,
                                       high, count);
#endif
}

TVMGEN_MVE_FLOAT_FUNCTION void tvmgen_mve_depthwise_taps_as_float(
    const int8_t* const* taps, const int8_t* w, const int32_t* records, int8_t* y, int32_t pixels,
    int32_t channels, int32_t step, int32_t zero_point, int32_t low, int32_t high, int32_t count) {
#if TVMGEN_MVE_FLOAT
  __asm__(TVMGEN_MVE_DEPTHWISE_AS_FLOAT(TAPS, TVMGEN_MVE_DEPTHWISE_FOURS));
#else
  tvmgen_mve_depthwise_pixels_as_float(taps, w, records, y, pixels, channels, step, zero_point, low,
                                       high, count);
#endif
}

TVMGEN_MVE_FLOAT_FUNCTION void tvmgen_mve_depthwise_taps_any_as_float(
    const int8_t* const* taps, const int8_t* w, const int32_t* records, int8_t* y, int32_t pixels,
    int32_t channels, int32_t step, int32_t zero_point, int32_t low, int32_t high, int32_t count) {
#if TVMGEN_MVE_FLOAT
  __asm__(TVMGEN_MVE_DEPTHWISE_AS_FLOAT(TAPS, TVMGEN_MVE_DEPTHWISE_ANY));
#else
  tvmgen_mve_depthwise_pixels_as_float(taps, w, records, y, pixels, channels, step, zero_point, low,
                                       high, count);
#endif
}
