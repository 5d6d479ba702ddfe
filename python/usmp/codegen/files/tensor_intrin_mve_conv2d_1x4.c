/* Convolution of one pixel and four channels at a time, and fully connected, for cores with MVE. */
#include "tensor_intrin_mve.c"

/* One pixel: four channels' weights at r5, each `size` bytes after the one before; sums in r0, r2,
 * r4, r6. */
#define TVMGEN_MVE_MULTIPLY_1X4(multiply, size) \
  ".irp multiply, " multiply                    \
  "\n"                                          \
  "vldrb.8 q1, [r5], #" size                    \
  "\n"                                          \
  "vldrb.8 q2, [r5], #" size                    \
  "\n"                                          \
  "\\multiply r0, q0, q1\n"                     \
  "vldrb.8 q3, [r5], #" size                    \
  "\n"                                          \
  "\\multiply r2, q0, q2\n"                     \
  "vldrb.8 q1, [r5], #" size                    \
  "\n"                                          \
  "\\multiply r4, q0, q3\n"                     \
  "\\multiply r6, q0, q1\n"                     \
  ".endr\n"

/* A row of columns: first its last ones, up to 16, then the others from the first on. The jump is
 * over what up to 240 columns have more, 36 bytes for 16. */
#define TVMGEN_MVE_ROW_1X4(multiply, size) \
  "vpst\n"                                 \
  "vldrbt.8 q0, [r1, #112]\n" TVMGEN_MVE_MULTIPLY_1X4(multiply, size) "bx r12\n"

#define TVMGEN_MVE_COLUMNS_1X4 \
  ".irp at, -112, -96, -80, -64, -48, -32, -16, 0, 16, 32, 48, 64, 80, 96\n" \
  "vldrb.8 q0, [r1, #\\at]\n" \
  TVMGEN_MVE_MULTIPLY_1X4("vmladava.s8", "16") \
  ".endr\n" \
  "5:\n"

/* Where the jump goes in r12, columns of the last 16 in r10, groups of channels in lr. */
#define TVMGEN_MVE_BEGIN_1X4 \
  TVMGEN_MVE_ENTER           \
  "str r1, [sp, #12]\n"      \
  "str r2, [sp, #36]\n"      \
  "ldr r8, [sp, #160]\n"     \
  "sub r8, #1\n"             \
  "and r10, r8, #15\n"       \
  "add r10, #1\n"            \
  "lsr r8, #4\n"             \
  "sub r9, r8, #7\n"         \
  "add r1, r0, r9, lsl #4\n" \
  "mov r7, r3\n"             \
  "mov r11, #36\n"           \
  "mul r8, r8, r11\n"        \
  "adr.w r12, 5f\n"          \
  "sub r12, r8\n"            \
  "orr r12, #1\n"            \
  "ldr r0, [sp, #172]\n"     \
  "vdup.32 q7, r0\n"         \
  "ldr r0, [sp, #176]\n"     \
  "vdup.32 q6, r0\n"         \
  "ldr r0, [sp, #180]\n"     \
  "vdup.32 q5, r0\n"         \
  "ldr r3, [sp, #168]\n"

#define TVMGEN_MVE_PIXEL_1X4 \
  "strd r1, r7, [sp, #4]\n"  \
  "ldr r5, [sp, #12]\n"      \
  "ldr r9, [sp, #36]\n"      \
  "ldr r11, [sp, #156]\n"

#define TVMGEN_MVE_GROUPS_1X4 \
  "add r0, r11, #3\n"         \
  "lsr r0, #2\n"              \
  "dls lr, r0\n"

/* The last group may have fewer than four channels. */
#define TVMGEN_MVE_STORE_1X4(half) \
  "vmov q0[2], q0[0], r0, r4\n"    \
  "vmov q0[3], q0[1], r2, r6\n"    \
  "vldrw.32 q2, [r9], #16\n"       \
  "vshr.s32 q3, q2, #8\n"          \
  "vadd.i32 q0, q0, q3\n"          \
  "vldrw.32 q1, [r9], #16\n"       \
  "vqrdmulh.s32 q0, q0, q1\n"      \
  ".irp sums, q0\n" half           \
  ".endr\n"                        \
  "vrshl.s32 q0, q0, q2\n"         \
  "vadd.i32 q0, q0, q7\n"          \
  "vmax.s32 q0, q0, q6\n"          \
  "vmin.s32 q0, q0, q5\n"          \
  "vctp.32 r11\n"                  \
  "subs r11, #4\n"                 \
  "vpst\n"                         \
  "vstrbt.32 q0, [r7], #4\n"

#define TVMGEN_MVE_NEXT_1X4 \
  "ldrd r1, r7, [sp, #4]\n" \
  "ldr r0, [sp, #144]\n"    \
  "add r1, r0\n"            \
  "ldr r0, [sp, #148]\n"    \
  "add r7, r0\n"            \
  "ldr r0, [sp, #152]\n"    \
  "subs r0, #1\n"           \
  "str r0, [sp, #152]\n"    \
  "bgt.w 1b\n"

/* If the last columns of a row are up to eight, their weights take eight bytes of each channel; lr
 * is one then, so that channels to do count the groups, and pixels, less one, are counted from
 * -2^31 on. */
#define TVMGEN_MVE_CONV2D_1X4(store) \
  TVMGEN_MVE_BEGIN_1X4               \
  "cmp r10, #8\n" \
  "bls 7f\n" \
  "1:\n" \
  TVMGEN_MVE_PIXEL_1X4 \
  TVMGEN_MVE_GROUPS_1X4 \
  "2:\n" \
  "vctp.8 r10\n" \
  TVMGEN_MVE_ROW_1X4("vmladav.s8", "16") \
  "7:\n" \
  "ldr r0, [sp, #152]\n" \
  "sub r0, #1\n" \
  "add r0, #0x80000000\n" \
  "str r0, [sp, #152]\n" \
  "9:\n" \
  TVMGEN_MVE_PIXEL_1X4 \
  "movs r0, #1\n" \
  "dls lr, r0\n" \
  "8:\n" \
  "vctp.8 r10\n" \
  TVMGEN_MVE_ROW_1X4("vmladav.s8", "8") \
  TVMGEN_MVE_COLUMNS_1X4 \
  store \
  "le lr, 2b\n" \
  "bgt 8b\n" \
  TVMGEN_MVE_NEXT_1X4 \
  "bmi.w 9b\n" \
  TVMGEN_MVE_LEAVE

/* A row after the first, r8 of them to do, each from label 3 on, and what comes after the last. */
#define TVMGEN_MVE_OTHER_ROWS_1X4(store)  \
  TVMGEN_MVE_ROW_1X4("vmladava.s8", "16") \
  TVMGEN_MVE_COLUMNS_1X4                  \
  "subs r8, #1\n"                         \
  "bne.w 3b\n" store "le lr, 2b\n" TVMGEN_MVE_NEXT_1X4 TVMGEN_MVE_LEAVE

#define TVMGEN_MVE_CONV2D_1X4_ROWS(store) \
  TVMGEN_MVE_BEGIN_1X4                    \
  "1:\n" \
  TVMGEN_MVE_PIXEL_1X4 \
  TVMGEN_MVE_GROUPS_1X4 \
  "2:\n" \
  "vctp.8 r10\n" \
  "ldr r1, [sp, #4]\n" \
  "ldr r8, [sp, #164]\n" \
  TVMGEN_MVE_ROW_1X4("vmladav.s8", "16") \
  "3:\n" \
  "add r1, r3\n" \
  TVMGEN_MVE_OTHER_ROWS_1X4(store)

/* Rows that lie anywhere: r3 walks over their addresses; in r10 how far r1 is from the first
 * column, in sp + 16 columns of the last 16. */
#define TVMGEN_MVE_CONV2D_1X4_TABLE(store) \
  TVMGEN_MVE_BEGIN_1X4                     \
  "str r10, [sp, #16]\n" \
  "1:\n" \
  TVMGEN_MVE_PIXEL_1X4 \
  TVMGEN_MVE_GROUPS_1X4 \
  "2:\n" \
  "ldr r10, [sp, #16]\n" \
  "vctp.8 r10\n" \
  "ldr r10, [sp, #4]\n" \
  "ldr r3, [sp, #168]\n" \
  "ldr r8, [sp, #164]\n" \
  "ldr r1, [r3], #4\n" \
  "add r1, r10\n" \
  TVMGEN_MVE_ROW_1X4("vmladav.s8", "16") \
  "3:\n" \
  "ldr r1, [r3], #4\n" \
  "add r1, r10\n" \
  TVMGEN_MVE_OTHER_ROWS_1X4(store)

TVMGEN_MVE_FUNCTION void tvmgen_mve_conv2d_1x4(const int8_t* x, const int8_t* w,
                                               const int32_t* records, int8_t* y,
                                               int32_t x_distance, int32_t y_distance,
                                               int32_t pixels, int32_t channels, int32_t columns,
                                               int32_t rows, int32_t row_distance,
                                               int32_t zero_point, int32_t low, int32_t high) {
#if TVMGEN_MVE
  __asm__(TVMGEN_MVE_CONV2D_1X4(TVMGEN_MVE_STORE_1X4(TVMGEN_MVE_HALF_AWAY)));
#else
  tvmgen_mve_conv2d(x, w, records, y, x_distance, y_distance, pixels, channels, columns, rows,
                    row_distance, zero_point, low, high, 1, 0, 0);
#endif
}

TVMGEN_MVE_FUNCTION void tvmgen_mve_conv2d_1x4_up(const int8_t* x, const int8_t* w,
                                                  const int32_t* records, int8_t* y,
                                                  int32_t x_distance, int32_t y_distance,
                                                  int32_t pixels, int32_t channels, int32_t columns,
                                                  int32_t rows, int32_t row_distance,
                                                  int32_t zero_point, int32_t low, int32_t high) {
#if TVMGEN_MVE
  __asm__(TVMGEN_MVE_CONV2D_1X4(TVMGEN_MVE_STORE_1X4(TVMGEN_MVE_HALF_UP)));
#else
  tvmgen_mve_conv2d(x, w, records, y, x_distance, y_distance, pixels, channels, columns, rows,
                    row_distance, zero_point, low, high, 1, 0, 1);
#endif
}

TVMGEN_MVE_FUNCTION void tvmgen_mve_conv2d_1x4_rows(
    const int8_t* x, const int8_t* w, const int32_t* records, int8_t* y, int32_t x_distance,
    int32_t y_distance, int32_t pixels, int32_t channels, int32_t columns, int32_t rows,
    int32_t row_distance, int32_t zero_point, int32_t low, int32_t high) {
#if TVMGEN_MVE
  __asm__(TVMGEN_MVE_CONV2D_1X4_ROWS(TVMGEN_MVE_STORE_1X4(TVMGEN_MVE_HALF_AWAY)));
#else
  tvmgen_mve_conv2d(x, w, records, y, x_distance, y_distance, pixels, channels, columns, rows,
                    row_distance, zero_point, low, high, 1, 0, 0);
#endif
}

TVMGEN_MVE_FUNCTION void tvmgen_mve_conv2d_1x4_rows_up(
    const int8_t* x, const int8_t* w, const int32_t* records, int8_t* y, int32_t x_distance,
    int32_t y_distance, int32_t pixels, int32_t channels, int32_t columns, int32_t rows,
    int32_t row_distance, int32_t zero_point, int32_t low, int32_t high) {
#if TVMGEN_MVE
  __asm__(TVMGEN_MVE_CONV2D_1X4_ROWS(TVMGEN_MVE_STORE_1X4(TVMGEN_MVE_HALF_UP)));
#else
  tvmgen_mve_conv2d(x, w, records, y, x_distance, y_distance, pixels, channels, columns, rows,
                    row_distance, zero_point, low, high, 1, 0, 1);
#endif
}

/* One pixel, whose rows are at the addresses of a table; x is 0, and distances have no meaning.
 * Four channels are computed before any of them is stored. */
TVMGEN_MVE_FUNCTION void tvmgen_mve_conv2d_1x4_table(
    const int8_t* x, const int8_t* w, const int32_t* records, int8_t* y, int32_t x_distance,
    int32_t y_distance, int32_t pixels, int32_t channels, int32_t columns, int32_t rows,
    const int8_t* const* table, int32_t zero_point, int32_t low, int32_t high) {
#if TVMGEN_MVE
  __asm__(TVMGEN_MVE_CONV2D_1X4_TABLE(TVMGEN_MVE_STORE_1X4(TVMGEN_MVE_HALF_AWAY)));
#else
  const int32_t blocks = (columns + 15) / 16;
  (void)x, (void)x_distance, (void)y_distance, (void)pixels;
  for (int32_t group = 0; group * 4 < channels; ++group) {
    const int32_t some = channels - group * 4 < 4 ? channels - group * 4 : 4;
    const int32_t* const record = records + group * 8;
    int32_t sums[4] = {0, 0, 0, 0};
    for (int32_t row = 0; row < rows; ++row) {
      for (int32_t column = 0; column < columns; ++column) {
        const int32_t block = (group * rows + row) * blocks + (column / 16 + 1) % blocks;
        for (int32_t c = 0; c < 4; ++c) {
          sums[c] += table[row][column] * w[(block * 4 + c) * 16 + column % 16];
        }
      }
    }
    for (int32_t c = 0; c < some; ++c) {
      const int32_t value = tvmgen_mve_rescale(sums[c], record[c], record[c + 4], 0) + zero_point;
      y[group * 4 + c] = tvmgen_mve_limited(value, low, high);
    }
  }
#endif
}

/* One pixel, whose window's taps stay where they are: each is `depth` bytes, rows of `columns`, up
 * to 128 of all taps. Of the taps, `rows` rows lie in the input after `above` that do not, and
 * `width` columns after `before` that do not; the first of these is at `x`, and the next ones are
 * some bytes from each other. What is outside is `padding`. */
TVMGEN_MVE_SHARED void tvmgen_mve_conv2d_taps(const int8_t* x, const int8_t* w,
                                              const int32_t* records, int8_t* y, int32_t channels,
                                              int32_t columns, int32_t depth, int32_t zero_point,
                                              int32_t low, int32_t high, int32_t kernel_height,
                                              int32_t kernel_width, int32_t above, int32_t rows,
                                              int32_t before, int32_t width, int32_t row_distance,
                                              int32_t column_distance, int32_t padding) {
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
  tvmgen_mve_conv2d_1x4_table(0, w, records, y, 0, 0, 1, channels, columns, count, table,
                              zero_point, low, high);
}
