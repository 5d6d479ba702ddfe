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
  __asm__(TVMGEN_MVE_DEPTHWISE_OF(9, TVMGEN_MVE_DEPTHWISE_FOURS,
                                  TVMGEN_MVE_DEPTHWISE_RESCALE_AS_FLOAT));
#else
  tvmgen_mve_depthwise_pixels_as_float(taps, w, records, y, pixels, channels, step, zero_point, low,
                                       high, count);
#endif
}

TVMGEN_MVE_FLOAT_FUNCTION void tvmgen_mve_depthwise_9_any_as_float(
    const int8_t* const* taps, const int8_t* w, const int32_t* records, int8_t* y, int32_t pixels,
    int32_t channels, int32_t step, int32_t zero_point, int32_t low, int32_t high, int32_t count) {
#if TVMGEN_MVE_FLOAT
  __asm__(
      TVMGEN_MVE_DEPTHWISE_OF(9, TVMGEN_MVE_DEPTHWISE_ANY, TVMGEN_MVE_DEPTHWISE_RESCALE_AS_FLOAT));
#else
  tvmgen_mve_depthwise_pixels_as_float(taps, w, records, y, pixels, channels, step, zero_point, low,
                                       high, count);
#endif
}

TVMGEN_MVE_FLOAT_FUNCTION void tvmgen_mve_depthwise_taps_as_float(
    const int8_t* const* taps, const int8_t* w, const int32_t* records, int8_t* y, int32_t pixels,
    int32_t channels, int32_t step, int32_t zero_point, int32_t low, int32_t high, int32_t count) {
#if TVMGEN_MVE_FLOAT
  __asm__(TVMGEN_MVE_DEPTHWISE_OF(TAPS, TVMGEN_MVE_DEPTHWISE_FOURS,
                                  TVMGEN_MVE_DEPTHWISE_RESCALE_AS_FLOAT));
#else
  tvmgen_mve_depthwise_pixels_as_float(taps, w, records, y, pixels, channels, step, zero_point, low,
                                       high, count);
#endif
}

TVMGEN_MVE_FLOAT_FUNCTION void tvmgen_mve_depthwise_taps_any_as_float(
    const int8_t* const* taps, const int8_t* w, const int32_t* records, int8_t* y, int32_t pixels,
    int32_t channels, int32_t step, int32_t zero_point, int32_t low, int32_t high, int32_t count) {
#if TVMGEN_MVE_FLOAT
  __asm__(TVMGEN_MVE_DEPTHWISE_OF(TAPS, TVMGEN_MVE_DEPTHWISE_ANY,
                                  TVMGEN_MVE_DEPTHWISE_RESCALE_AS_FLOAT));
#else
  tvmgen_mve_depthwise_pixels_as_float(taps, w, records, y, pixels, channels, step, zero_point, low,
                                       high, count);
#endif
}
