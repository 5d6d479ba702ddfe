/* Sums and means of pixels, rescaled as floats, for cores with MVE of floats. */
#include "tensor_intrin_mve_as_float.c"
#include "tensor_intrin_mve_sums.c"

/* The factor stays in r7. */
#define TVMGEN_MVE_SUMS_FACTOR_AS_FLOAT "ldr r9, [sp, #152]\n"

/* The sum of at least one pixel in a line and an offset, by channel, times the factor. */
TVMGEN_MVE_FLOAT_FUNCTION void tvmgen_mve_sums_as_float(const int8_t* x, int8_t* y, int32_t pixels,
                                                        int32_t channels, int32_t offset,
                                                        int32_t factor, int32_t zero_point,
                                                        int32_t low, int32_t high) {
#if TVMGEN_MVE_FLOAT
  __asm__(TVMGEN_MVE_SUMS(TVMGEN_MVE_SUMS_FACTOR_AS_FLOAT,
                          TVMGEN_MVE_MULTIPLY_AS_FLOAT("\\sums", "r7"), "156"));
#else
  for (int32_t c = 0; c < channels; ++c) {
    int32_t sum = offset;
    for (int32_t pixel = 0; pixel < pixels; ++pixel) sum += x[pixel * channels + c];
    y[c] = tvmgen_mve_limited_as_float(sum, factor, zero_point, low, high);
  }
#endif
}
