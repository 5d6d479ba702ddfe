/* Convolution of two pixels and four channels at a time, rescaled as floats, for cores with MVE of
 * floats. */
#include "tensor_intrin_mve_as_float.c"
#include "tensor_intrin_mve_conv2d_2x4.c"

/* Rescales eight sums, and stores them. */
#define TVMGEN_MVE_STORE_2X4_AS_FLOAT(record, y) \
  "vmov q0[2], q0[0], r0, r4\n" \
  "vmov q1[2], q1[0], r8, r12\n" \
  "vmov q0[3], q0[1], r2, r6\n" \
  "vmov q1[3], q1[1], r10, lr\n" \
  "vldrw.32 q2, [" record "], #16\n" \
  "vadd.i32 q0, q0, q2\n" \
  "vadd.i32 q1, q1, q2\n" \
  "vldrw.32 q3, [" record "], #16\n" \
  TVMGEN_MVE_MULTIPLY_AS_FLOAT("q0", "q3") \
  TVMGEN_MVE_MULTIPLY_AS_FLOAT("q1", "q3") \
  "vqmovnb.s32 q0, q0\n" \
  "vqmovnt.s32 q0, q1\n" \
  "vqadd.s16 q0, q0, q6\n" \
  "vmax.s16 q0, q0, q5\n" \
  "vmin.s16 q0, q0, q4\n" \
  "vstrb.16 q0, [" y ", q7]\n" \
  "add " y ", #4\n"

TVMGEN_MVE_FLOAT_FUNCTION void tvmgen_mve_conv2d_2x4_as_float(
    const int8_t* x, const int8_t* w, const int32_t* records, int8_t* y, int32_t x_distance,
    int32_t y_distance, int32_t pixels, int32_t channels, int32_t columns, int32_t rows,
    int32_t row_distance, int32_t zero_point, int32_t low, int32_t high, int8_t* copy) {
#if TVMGEN_MVE_FLOAT
  __asm__(TVMGEN_MVE_CONV2D_2X4(TVMGEN_MVE_STORE_2X4_AS_FLOAT));
#else
  tvmgen_mve_conv2d_as_float(x, w, records, y, x_distance, y_distance, pixels, channels, columns,
                             rows, row_distance, zero_point, low, high, 2, copy, 0);
#endif
}

TVMGEN_MVE_FLOAT_FUNCTION void tvmgen_mve_conv2d_2x4_rows_as_float(
    const int8_t* x, const int8_t* w, const int32_t* records, int8_t* y, int32_t x_distance,
    int32_t y_distance, int32_t pixels, int32_t channels, int32_t columns, int32_t rows,
    int32_t row_distance, int32_t zero_point, int32_t low, int32_t high, int8_t* copy) {
#if TVMGEN_MVE_FLOAT
  __asm__(TVMGEN_MVE_CONV2D_2X4_ROWS(TVMGEN_MVE_STORE_2X4_AS_FLOAT));
#else
  tvmgen_mve_conv2d_as_float(x, w, records, y, x_distance, y_distance, pixels, channels, columns,
                             rows, row_distance, zero_point, low, high, 2, copy, 0);
#endif
}
