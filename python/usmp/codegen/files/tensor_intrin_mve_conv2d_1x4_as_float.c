/* Convolution of one pixel and four channels at a time, and fully connected, rescaled as floats,
 * for cores with MVE of floats. */
#include "tensor_intrin_mve_as_float.c"
#include "tensor_intrin_mve_conv2d_1x4.c"

/* The last group may have fewer than four channels. */
#define TVMGEN_MVE_STORE_1X4_AS_FLOAT \
  "vmov q0[2], q0[0], r0, r4\n" \
  "vmov q0[3], q0[1], r2, r6\n" \
  "vldrw.32 q1, [r9], #16\n" \
  "vadd.i32 q0, q0, q1\n" \
  "vldrw.32 q2, [r9], #16\n" \
  TVMGEN_MVE_MULTIPLY_AS_FLOAT("q0", "q2") \
  "vqadd.s32 q0, q0, q7\n" \
  "vmax.s32 q0, q0, q6\n" \
  "vmin.s32 q0, q0, q5\n" \
  "vctp.32 r11\n" \
  "subs r11, #4\n" \
  "vpst\n" \
  "vstrbt.32 q0, [r7], #4\n"

TVMGEN_MVE_FLOAT_FUNCTION void tvmgen_mve_conv2d_1x4_as_float(
    const int8_t* x, const int8_t* w, const int32_t* records, int8_t* y, int32_t x_distance,
    int32_t y_distance, int32_t pixels, int32_t channels, int32_t columns, int32_t rows,
    int32_t row_distance, int32_t zero_point, int32_t low, int32_t high) {
#if TVMGEN_MVE_FLOAT
  __asm__(TVMGEN_MVE_CONV2D_1X4(TVMGEN_MVE_STORE_1X4_AS_FLOAT));
#else
  tvmgen_mve_conv2d_as_float(x, w, records, y, x_distance, y_distance, pixels, channels, columns,
                             rows, row_distance, zero_point, low, high, 1, 0, 0);
#endif
}

TVMGEN_MVE_FLOAT_FUNCTION void tvmgen_mve_conv2d_1x4_rows_as_float(
    const int8_t* x, const int8_t* w, const int32_t* records, int8_t* y, int32_t x_distance,
    int32_t y_distance, int32_t pixels, int32_t channels, int32_t columns, int32_t rows,
    int32_t row_distance, int32_t zero_point, int32_t low, int32_t high) {
#if TVMGEN_MVE_FLOAT
  __asm__(TVMGEN_MVE_CONV2D_1X4_ROWS(TVMGEN_MVE_STORE_1X4_AS_FLOAT));
#else
  tvmgen_mve_conv2d_as_float(x, w, records, y, x_distance, y_distance, pixels, channels, columns,
                             rows, row_distance, zero_point, low, high, 1, 0, 0);
#endif
}

/* One pixel, whose rows are at the addresses of a table; x is 0, and distances have no meaning.
 * Four channels are computed before any of them is stored. */
TVMGEN_MVE_FLOAT_FUNCTION void tvmgen_mve_conv2d_1x4_table_as_float(
    const int8_t* x, const int8_t* w, const int32_t* records, int8_t* y, int32_t x_distance,
    int32_t y_distance, int32_t pixels, int32_t channels, int32_t columns, int32_t rows,
    const int8_t* const* table, int32_t zero_point, int32_t low, int32_t high) {
#if TVMGEN_MVE_FLOAT
  __asm__(TVMGEN_MVE_CONV2D_1X4_TABLE(TVMGEN_MVE_STORE_1X4_AS_FLOAT));
#else
  tvmgen_mve_conv2d_as_float(x, w, records, y, x_distance, y_distance, pixels, channels, columns,
                             rows, 0, zero_point, low, high, 1, 0, table);
#endif
}

/* One pixel, whose window's taps stay where they are: each is `depth` bytes, rows of `columns`, up
 * to 128 of all taps. Of the taps, `rows` rows lie in the input after `above` that do not, and
 * `width` columns after `before` that do not; the first of these is at `x`, and the next ones are
 * some bytes from each other. What is outside is `padding`. */
TVMGEN_MVE_SHARED void tvmgen_mve_conv2d_taps_as_float(
    const int8_t* x, const int8_t* w, const int32_t* records, int8_t* y, int32_t channels,
    int32_t columns, int32_t depth, int32_t zero_point, int32_t low, int32_t high,
    int32_t kernel_height, int32_t kernel_width, int32_t above, int32_t rows, int32_t before,
    int32_t width, int32_t row_distance, int32_t column_distance, int32_t padding) {
  const int8_t* table[128];
  int8_t outside[240];
  int32_t count = 0;
  tvmgen_mve_fill(outside, columns, padding);
  for (int32_t tap = 0; tap < kernel_height * kernel_width; ++tap) {
    const int32_t row = tap / kernel_width - above, column = tap % kernel_width - before;
    const int32_t exists = row >= 0 && row < rows && column >= 0 && column < width;
    const int32_t at = row * row_distance + column * column_distance;
    for (int32_t part = 0; part < depth; part += columns) {
      table[count++] = exists ? x + at + part : outside;
    }
  }
  tvmgen_mve_conv2d_1x4_table_as_float(0, w, records, y, 0, 0, 1, channels, columns, count, table,
                                       zero_point, low, high);
}
