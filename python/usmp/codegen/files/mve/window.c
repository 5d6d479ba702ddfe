/* Windows of a convolution that reach beyond its input, for cores with MVE. */
#include "common.c"

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

/* Copies `channels` of the pixels of a window. Of its taps, `rows` rows lie in the input after
 * `above` that do not, and `columns` columns after `before` that do not; the first of these is at
 * `x`, and the next ones are some bytes from each other. What is outside is `padding`. */
TVMGEN_MVE_SHARED void tvmgen_mve_window(const int8_t* x, int8_t* to, int32_t channels,
                                         int32_t kernel_height, int32_t kernel_width, int32_t above,
                                         int32_t rows, int32_t before, int32_t columns,
                                         int32_t row_distance, int32_t column_distance,
                                         int32_t padding) {
  const int32_t row_bytes = kernel_width * channels;
  const int32_t all = rows == kernel_height && columns == kernel_width;
  if (!all) tvmgen_mve_fill(to, kernel_height * row_bytes, padding);
  if (rows <= 0 || columns <= 0) return;
  to += above * row_bytes + before * channels;
  if (channels == column_distance) {
    tvmgen_mve_copy_rows(to, x, columns * channels, rows, row_bytes, row_distance);
    return;
  }
  for (int32_t row = 0; row < rows; ++row) {
    tvmgen_mve_copy_rows(to + row * row_bytes, x + row * row_distance, channels, columns, channels,
                         column_distance);
  }
}
