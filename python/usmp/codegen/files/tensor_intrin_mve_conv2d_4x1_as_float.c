/* Convolution of four pixels and one channel at a time, of few channels, rescaled as floats, for
 * cores with MVE of floats. */
#include "tensor_intrin_mve_as_float.c"
#include "tensor_intrin_mve_conv2d_4x1.c"

#define TVMGEN_MVE_RESCALE_4X1_AS_FLOAT \
  "vadd.i32 q0, q0, r0\n" TVMGEN_MVE_MULTIPLY_AS_FLOAT("q0", "r2") "vqadd.s32 q0, q0, q7\n"

TVMGEN_MVE_FLOAT_FUNCTION void tvmgen_mve_conv2d_4x1_as_float(
    const int8_t* x, const int8_t* w, const int32_t* records, int8_t* y, int32_t x_distance,
    int32_t y_distance, int32_t pixels, int32_t channels, int32_t columns, int32_t rows,
    int32_t row_distance, int32_t zero_point, int32_t low, int32_t high) {
#if TVMGEN_MVE_FLOAT
  __asm__(TVMGEN_MVE_CONV2D_4X1(TVMGEN_MVE_RESCALE_4X1_AS_FLOAT));
#else
  tvmgen_mve_conv2d_as_float(x, w, records, y, x_distance, y_distance, pixels, channels, columns,
                             rows, row_distance, zero_point, low, high, 4, 0, 0);
#endif
}
