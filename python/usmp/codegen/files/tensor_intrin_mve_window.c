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

/* Copies `channels` of the pixels of a window, whose first row is row `top` of the input and whose
 * first column is column `left`; what is outside is `padding`. Pixels of the input are `distance`
 * bytes from each other. */
TVMGEN_MVE_SHARED void tvmgen_mve_window(const int8_t* x, int8_t* to, int32_t height, int32_t width,
                                         int32_t channels, int32_t distance, int32_t kernel_height,
                                         int32_t kernel_width, int32_t dilation, int32_t top,
                                         int32_t left, int32_t padding) {
  const int32_t row_bytes = kernel_width * channels, row_distance = dilation * width * distance;
  const int32_t above = top < 0 ? (dilation - 1 - top) / dilation : 0;
  const int32_t before = left < 0 ? -left : 0;
  const int32_t down = height - top > 0 ? (height - top - 1) / dilation + 1 : 0;
  const int32_t right = width - left;
  const int32_t below = down < kernel_height ? down : kernel_height;
  const int32_t after = right < kernel_width ? right : kernel_width;
  const int32_t all = above == 0 && before == 0 && below == kernel_height && after == kernel_width;
  if (!all) tvmgen_mve_fill(to, kernel_height * row_bytes, padding);
  if (above >= below || before >= after) return;
  x += ((top + above * dilation) * width + left + before) * distance;
  to += above * row_bytes + before * channels;
  if (channels == distance) {
    tvmgen_mve_copy_rows(to, x, (after - before) * channels, below - above, row_bytes,
                         row_distance);
    return;
  }
  for (int32_t row = 0; row < below - above; ++row) {
    tvmgen_mve_copy_rows(to + row * row_bytes, x + row * row_distance, channels, after - before,
                         channels, distance);
  }
}
