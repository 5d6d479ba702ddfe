/* Windows of a convolution that reach beyond its input, for cores with MVE. */
#include "tensor_intrin_mve.c"

/* Copies rows of r2 bytes from r1 to r0; r3: how many; then their distances there and here. */
#define TVMGEN_MVE_COPY_ROWS \
  "push {r4-r8, lr}\n"       \
  "ldrd r4, r5, [sp, #24]\n" \
  "1:\n"                     \
  "mov r6, r0\n"             \
  "mov r7, r1\n"             \
  "wlstp.8 lr, r2, 3f\n"     \
  "2:\n"                     \
  "vldrb.8 q0, [r7], #16\n"  \
  "vstrb.8 q0, [r6], #16\n"  \
  "letp lr, 2b\n"            \
  "3:\n"                     \
  "add r0, r4\n"             \
  "add r1, r5\n"             \
  "subs r3, #1\n"            \
  "bne 1b\n"                 \
  "pop {r4-r8, pc}\n"

/* At least one row. */
TVMGEN_MVE_FUNCTION void tvmgen_mve_copy_rows(int8_t* to, const int8_t* from, int32_t bytes,
                                              int32_t rows, int32_t to_distance,
                                              int32_t from_distance) {
#if TVMGEN_MVE
  __asm__(TVMGEN_MVE_COPY_ROWS);
#else
  for (int32_t row = 0; row < rows; ++row) {
    for (int32_t i = 0; i < bytes; ++i) to[row * to_distance + i] = from[row * from_distance + i];
  }
#endif
}

/* The first of some taps, `dilation` apart from `first` on, that is not before the input, and the
 * number of those that are not after its `extent`. */
TVMGEN_MVE_PORTABLE int32_t tvmgen_mve_taps_before(int32_t first, int32_t dilation) {
  return first < 0 ? (dilation - 1 - first) / dilation : 0;
}

TVMGEN_MVE_PORTABLE int32_t tvmgen_mve_taps_up_to(int32_t first, int32_t dilation, int32_t extent,
                                                  int32_t taps) {
  const int32_t up_to = extent > first ? (extent - first - 1) / dilation + 1 : 0;
  return up_to < taps ? up_to : taps;
}

/* Copies `channels` of the pixels of a window, of which `rows` rows lie in the input: these begin
 * at `x`, and come after `above` rows of taps. Its first column is column `left`; what is outside
 * is `padding`. Pixels of the input are `distance` bytes from each other. */
TVMGEN_MVE_SHARED void tvmgen_mve_window(const int8_t* x, int8_t* to, int32_t above, int32_t rows,
                                         int32_t width, int32_t channels, int32_t distance,
                                         int32_t kernel_height, int32_t kernel_width,
                                         int32_t row_dilation, int32_t column_dilation,
                                         int32_t left, int32_t padding) {
  const int32_t row_bytes = kernel_width * channels, row_distance = row_dilation * width * distance;
  const int32_t before = tvmgen_mve_taps_before(left, column_dilation);
  const int32_t after = tvmgen_mve_taps_up_to(left, column_dilation, width, kernel_width);
  const int32_t all = rows == kernel_height && before == 0 && after == kernel_width;
  if (!all) tvmgen_mve_fill(to, kernel_height * row_bytes, padding);
  if (rows <= 0 || before >= after) return;
  x += (left + before * column_dilation) * distance;
  to += above * row_bytes + before * channels;
  if (channels == distance && column_dilation == 1) {
    tvmgen_mve_copy_rows(to, x, (after - before) * channels, rows, row_bytes, row_distance);
    return;
  }
  for (int32_t row = 0; row < rows; ++row) {
    tvmgen_mve_copy_rows(to + row * row_bytes, x + row * row_distance, channels, after - before,
                         channels, column_dilation * distance);
  }
}
