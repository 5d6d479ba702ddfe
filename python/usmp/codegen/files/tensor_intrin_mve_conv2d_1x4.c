/* Convolution of one pixel and four channels at a time, and fully connected, for cores with MVE. */
#include "tensor_intrin_mve.c"

/* One pixel: four channels' weights at r5, sums in r0, r2, r4, r6. */
#define TVMGEN_MVE_MULTIPLY_1X4(multiply) \
  ".irp multiply, " multiply              \
  "\n"                                    \
  "vldrb.8 q1, [r5], #16\n"               \
  "vldrb.8 q2, [r5], #16\n"               \
  "\\multiply r0, q0, q1\n"               \
  "vldrb.8 q3, [r5], #16\n"               \
  "\\multiply r2, q0, q2\n"               \
  "vldrb.8 q1, [r5], #16\n"               \
  "\\multiply r4, q0, q3\n"               \
  "\\multiply r6, q0, q1\n"               \
  ".endr\n"

/* A row of columns: first its last ones, up to 16, then the others from the first on. The jump is
 * over what up to 240 columns have more, 36 bytes for 16. */
#define TVMGEN_MVE_ROW_1X4(multiply) \
  "vpst\n"                           \
  "vldrbt.8 q0, [r1, #112]\n" TVMGEN_MVE_MULTIPLY_1X4(multiply) "bx r12\n"

#define TVMGEN_MVE_COLUMNS_1X4 \
  ".irp at, -112, -96, -80, -64, -48, -32, -16, 0, 16, 32, 48, 64, 80, 96\n" \
  "vldrb.8 q0, [r1, #\\at]\n" \
  TVMGEN_MVE_MULTIPLY_1X4("vmladava.s8") \
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
  "ldr r11, [sp, #156]\n"    \
  "add r0, r11, #3\n"        \
  "lsr r0, #2\n"             \
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
  "sub r11, #4\n"                  \
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
  "bne.w 1b\n" TVMGEN_MVE_LEAVE

#define TVMGEN_MVE_CONV2D_1X4(half)                                      \
  TVMGEN_MVE_BEGIN_1X4                                                   \
  "1:\n" TVMGEN_MVE_PIXEL_1X4                                            \
  "2:\n"                                                                 \
  "vctp.8 r10\n" TVMGEN_MVE_ROW_1X4("vmladav.s8") TVMGEN_MVE_COLUMNS_1X4 \
  TVMGEN_MVE_STORE_1X4(half) "le lr, 2b\n" TVMGEN_MVE_NEXT_1X4

#define TVMGEN_MVE_CONV2D_1X4_ROWS(half) \
  TVMGEN_MVE_BEGIN_1X4                   \
  "1:\n" \
  TVMGEN_MVE_PIXEL_1X4 \
  "2:\n" \
  "vctp.8 r10\n" \
  "ldr r1, [sp, #4]\n" \
  "ldr r8, [sp, #164]\n" \
  TVMGEN_MVE_ROW_1X4("vmladav.s8") \
  "3:\n" \
  "add r1, r3\n" \
  TVMGEN_MVE_ROW_1X4("vmladava.s8") \
  TVMGEN_MVE_COLUMNS_1X4 \
  "subs r8, #1\n" \
  "bne.w 3b\n" \
  TVMGEN_MVE_STORE_1X4(half) \
  "le lr, 2b\n" \
  TVMGEN_MVE_NEXT_1X4

TVMGEN_MVE_FUNCTION void tvmgen_mve_conv2d_1x4(const int8_t* x, const int8_t* w,
                                               const int32_t* records, int8_t* y,
                                               int32_t x_distance, int32_t y_distance,
                                               int32_t pixels, int32_t channels, int32_t columns,
                                               int32_t rows, int32_t row_distance,
                                               int32_t zero_point, int32_t low, int32_t high) {
#if TVMGEN_MVE
  __asm__(TVMGEN_MVE_CONV2D_1X4(TVMGEN_MVE_HALF_AWAY));
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
  __asm__(TVMGEN_MVE_CONV2D_1X4(TVMGEN_MVE_HALF_UP));
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
  __asm__(TVMGEN_MVE_CONV2D_1X4_ROWS(TVMGEN_MVE_HALF_AWAY));
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
  __asm__(TVMGEN_MVE_CONV2D_1X4_ROWS(TVMGEN_MVE_HALF_UP));
#else
  tvmgen_mve_conv2d(x, w, records, y, x_distance, y_distance, pixels, channels, columns, rows,
                    row_distance, zero_point, low, high, 1, 0, 1);
#endif
}
