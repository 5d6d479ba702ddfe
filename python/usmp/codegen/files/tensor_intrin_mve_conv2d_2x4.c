/* Convolution of two pixels and four channels at a time for cores with MVE. */
#include "tensor_intrin_mve.c"

/* Sums of 16 columns, of two pixels in q0 and q1, for four channels, whose weights are at r5,
 * each `size` bytes after the one before. */
#define TVMGEN_MVE_MULTIPLY_2X4(multiply, size) \
  ".irp multiply, " multiply                    \
  "\n"                                          \
  "vldrb.8 q2, [r5], #" size                    \
  "\n"                                          \
  "\\multiply r0, q0, q2\n"                     \
  "vldrb.8 q3, [r5], #" size                    \
  "\n"                                          \
  "\\multiply r8, q1, q2\n"                     \
  "\\multiply r2, q0, q3\n"                     \
  "vldrb.8 q2, [r5], #" size                    \
  "\n"                                          \
  "\\multiply r10, q1, q3\n"                    \
  "\\multiply r4, q0, q2\n"                     \
  "vldrb.8 q3, [r5], #" size                    \
  "\n"                                          \
  "\\multiply r12, q1, q2\n"                    \
  "\\multiply r6, q0, q3\n"                     \
  "\\multiply lr, q1, q3\n"                     \
  ".endr\n"

/* A row of columns: first its last ones, up to 16, then the others from the first on. The jump is
 * over what up to 240 columns have more, 56 bytes for 16. */
#define TVMGEN_MVE_ROW_2X4(multiply, size) \
  "vpstt\n"                                \
  "vldrbt.8 q0, [r1, #112]\n"              \
  "vldrbt.8 q1, [r3, #112]\n" TVMGEN_MVE_MULTIPLY_2X4(multiply, size) "ldr pc, [sp]\n"

#define TVMGEN_MVE_COLUMNS_2X4 \
  ".irp at, -112, -96, -80, -64, -48, -32, -16, 0, 16, 32, 48, 64, 80, 96\n" \
  "vldrb.8 q0, [r1, #\\at]\n" \
  "vldrb.8 q1, [r3, #\\at]\n" \
  TVMGEN_MVE_MULTIPLY_2X4("vmladava.s8", "16") \
  ".endr\n" \
  "5:\n"

/* In memory: sp + 0: where the jump goes; 4, 8: the pixels, less 112; 12: weights; 24: of rows,
 * groups of channels to do; 28: y; 36: records. Flags: negative if the last columns are more than
 * eight. */
#define TVMGEN_MVE_BEGIN_2X4 \
  TVMGEN_MVE_ENTER           \
  "str r1, [sp, #12]\n"      \
  "str r3, [sp, #28]\n"      \
  "str r2, [sp, #36]\n"      \
  "ldr r8, [sp, #160]\n"     \
  "sub r8, #1\n"             \
  "lsls r9, r8, #28\n"       \
  "and r9, r8, #15\n"        \
  "add r9, #1\n"             \
  "vctp.8 r9\n"              \
  "lsr r8, #4\n"             \
  "sub r9, r8, #7\n"         \
  "add r0, r0, r9, lsl #4\n" \
  "ldr r6, [sp, #144]\n"     \
  "add r6, r0\n"             \
  "strd r0, r6, [sp, #4]\n"  \
  "mov r10, #56\n"           \
  "mul r8, r8, r10\n"        \
  "adr.w r11, 5f\n"          \
  "sub r11, r8\n"            \
  "orr r11, #1\n"            \
  "str r11, [sp]\n"          \
  "mov r0, #0\n"             \
  "ldr r1, [sp, #148]\n"     \
  "vidup.u32 q7, r0, #1\n"   \
  "vadd.i32 q0, q7, r1\n"    \
  "vshl.i32 q0, q0, #16\n"   \
  "vorr q7, q7, q0\n"        \
  "ldr r0, [sp, #172]\n"     \
  "vdup.16 q6, r0\n"         \
  "ldr r0, [sp, #176]\n"     \
  "vdup.16 q5, r0\n"         \
  "ldr r0, [sp, #180]\n"     \
  "vdup.16 q4, r0\n"

/* Rescales eight sums, and stores them; `half` rounds halves away from zero. */
#define TVMGEN_MVE_STORE_2X4(record, y, half) \
  "vmov q0[2], q0[0], r0, r4\n"               \
  "vmov q1[2], q1[0], r8, r12\n"              \
  "vmov q0[3], q0[1], r2, r6\n"               \
  "vmov q1[3], q1[1], r10, lr\n"              \
  "vldrw.32 q2, [" record                     \
  "], #16\n"                                  \
  "vshr.s32 q3, q2, #8\n"                     \
  "vadd.i32 q0, q0, q3\n"                     \
  "vadd.i32 q1, q1, q3\n"                     \
  "vldrw.32 q3, [" record                     \
  "], #16\n"                                  \
  "vqrdmulh.s32 q0, q0, q3\n"                 \
  "vqrdmulh.s32 q1, q1, q3\n"                 \
  ".irp sums, q0, q1\n" half                  \
  ".endr\n"                                   \
  "vrshl.s32 q0, q0, q2\n"                    \
  "vrshl.s32 q1, q1, q2\n"                    \
  "vqmovnb.s32 q0, q0\n"                      \
  "vqmovnt.s32 q0, q1\n"                      \
  "vqadd.s16 q0, q0, q6\n"                    \
  "vmax.s16 q0, q0, q5\n"                     \
  "vmin.s16 q0, q0, q4\n"                     \
  "vstrb.16 q0, [" y                          \
  ", q7]\n"                                   \
  "add " y ", #4\n"

#define TVMGEN_MVE_STORE_2X4_AWAY(record, y) TVMGEN_MVE_STORE_2X4(record, y, TVMGEN_MVE_HALF_AWAY)
#define TVMGEN_MVE_STORE_2X4_UP(record, y) TVMGEN_MVE_STORE_2X4(record, y, TVMGEN_MVE_HALF_UP)

/* The next two pixels; if there is a place to copy to, y stays where it is. */
#define TVMGEN_MVE_NEXT_2X4  \
  "ldrd r0, r2, [sp, #4]\n"  \
  "ldr r4, [sp, #144]\n"     \
  "add r0, r0, r4, lsl #1\n" \
  "add r2, r2, r4, lsl #1\n" \
  "strd r0, r2, [sp, #4]\n"  \
  "ldr r0, [sp, #28]\n"      \
  "ldr r4, [sp, #148]\n"     \
  "ldr r1, [sp, #184]\n"     \
  "cmp r1, #0\n"             \
  "beq 6f\n"                 \
  "lsls r2, r4, #1\n"        \
  "wlstp.8 lr, r2, 4f\n"     \
  "3:\n"                     \
  "vldrb.8 q0, [r0], #16\n"  \
  "vstrb.8 q0, [r1], #16\n"  \
  "letp lr, 3b\n"            \
  "4:\n"                     \
  "ldr r1, [sp, #184]\n"     \
  "add r1, r2\n"             \
  "str r1, [sp, #184]\n"     \
  "b 7f\n"                   \
  "6:\n"                     \
  "add r0, r0, r4, lsl #1\n" \
  "str r0, [sp, #28]\n"      \
  "7:\n"                     \
  "ldr r0, [sp, #152]\n"     \
  "subs r0, #2\n"            \
  "str r0, [sp, #152]\n"     \
  "bgt.w 1b\n"

#define TVMGEN_MVE_PIXELS_2X4 \
  "ldrd r1, r3, [sp, #4]\n"   \
  "ldr r5, [sp, #12]\n"       \
  "ldr r7, [sp, #36]\n"       \
  "ldr r9, [sp, #28]\n"       \
  "ldr r11, [sp, #156]\n"

/* One row a window: records in r7, y in r9, channels to do in r11. If its last columns are up to
 * eight, their weights take eight bytes of each channel; channels and pixels to do, less one time,
 * are counted from -2^31 on then. */
#define TVMGEN_MVE_CONV2D_2X4(store) \
  TVMGEN_MVE_BEGIN_2X4               \
  "bpl 7f\n" \
  "1:\n" \
  TVMGEN_MVE_PIXELS_2X4 \
  "2:\n" \
  TVMGEN_MVE_ROW_2X4("vmladav.s8", "16") \
  "7:\n" \
  "ldrd r0, r1, [sp, #152]\n" \
  "sub r0, #2\n" \
  "add r0, #0x80000000\n" \
  "sub r1, #4\n" \
  "add r1, #0x80000000\n" \
  "strd r0, r1, [sp, #152]\n" \
  "9:\n" \
  TVMGEN_MVE_PIXELS_2X4 \
  "8:\n" \
  TVMGEN_MVE_ROW_2X4("vmladav.s8", "8") \
  TVMGEN_MVE_COLUMNS_2X4 \
  store("r7", "r9") \
  "subs r11, #4\n" \
  "bgt.w 2b\n" \
  "bmi.w 8b\n" \
  TVMGEN_MVE_NEXT_2X4 \
  "bmi.w 9b\n" \
  TVMGEN_MVE_LEAVE

/* Several rows: their distance in r7, rows to do in r11; in sp + 16: records, 20: y. */
#define TVMGEN_MVE_CONV2D_2X4_ROWS(store) \
  TVMGEN_MVE_BEGIN_2X4                    \
  "ldr r7, [sp, #168]\n" \
  "1:\n" \
  "ldr r5, [sp, #12]\n" \
  "ldr r0, [sp, #36]\n" \
  "ldr r2, [sp, #28]\n" \
  "strd r0, r2, [sp, #16]\n" \
  "ldr r0, [sp, #156]\n" \
  "str r0, [sp, #24]\n" \
  "2:\n" \
  "ldrd r1, r3, [sp, #4]\n" \
  "ldr r11, [sp, #164]\n" \
  TVMGEN_MVE_ROW_2X4("vmladav.s8", "16") \
  "3:\n" \
  "add r1, r7\n" \
  "add r3, r7\n" \
  TVMGEN_MVE_ROW_2X4("vmladava.s8", "16") \
  TVMGEN_MVE_COLUMNS_2X4 \
  "subs r11, #1\n" \
  "bne.w 3b\n" \
  "ldrd r1, r3, [sp, #16]\n" \
  store("r1", "r3") \
  "strd r1, r3, [sp, #16]\n" \
  "ldr r0, [sp, #24]\n" \
  "subs r0, #4\n" \
  "str r0, [sp, #24]\n" \
  "bne.w 2b\n" \
  TVMGEN_MVE_NEXT_2X4 \
  TVMGEN_MVE_LEAVE

TVMGEN_MVE_FUNCTION void tvmgen_mve_conv2d_2x4(
    const int8_t* x, const int8_t* w, const int32_t* records, int8_t* y, int32_t x_distance,
    int32_t y_distance, int32_t pixels, int32_t channels, int32_t columns, int32_t rows,
    int32_t row_distance, int32_t zero_point, int32_t low, int32_t high, int8_t* copy) {
#if TVMGEN_MVE
  __asm__(TVMGEN_MVE_CONV2D_2X4(TVMGEN_MVE_STORE_2X4_AWAY));
#else
  tvmgen_mve_conv2d(x, w, records, y, x_distance, y_distance, pixels, channels, columns, rows,
                    row_distance, zero_point, low, high, 2, copy, 0);
#endif
}

TVMGEN_MVE_FUNCTION void tvmgen_mve_conv2d_2x4_up(
    const int8_t* x, const int8_t* w, const int32_t* records, int8_t* y, int32_t x_distance,
    int32_t y_distance, int32_t pixels, int32_t channels, int32_t columns, int32_t rows,
    int32_t row_distance, int32_t zero_point, int32_t low, int32_t high, int8_t* copy) {
#if TVMGEN_MVE
  __asm__(TVMGEN_MVE_CONV2D_2X4(TVMGEN_MVE_STORE_2X4_UP));
#else
  tvmgen_mve_conv2d(x, w, records, y, x_distance, y_distance, pixels, channels, columns, rows,
                    row_distance, zero_point, low, high, 2, copy, 1);
#endif
}

TVMGEN_MVE_FUNCTION void tvmgen_mve_conv2d_2x4_rows(
    const int8_t* x, const int8_t* w, const int32_t* records, int8_t* y, int32_t x_distance,
    int32_t y_distance, int32_t pixels, int32_t channels, int32_t columns, int32_t rows,
    int32_t row_distance, int32_t zero_point, int32_t low, int32_t high, int8_t* copy) {
#if TVMGEN_MVE
  __asm__(TVMGEN_MVE_CONV2D_2X4_ROWS(TVMGEN_MVE_STORE_2X4_AWAY));
#else
  tvmgen_mve_conv2d(x, w, records, y, x_distance, y_distance, pixels, channels, columns, rows,
                    row_distance, zero_point, low, high, 2, copy, 0);
#endif
}

TVMGEN_MVE_FUNCTION void tvmgen_mve_conv2d_2x4_rows_up(
    const int8_t* x, const int8_t* w, const int32_t* records, int8_t* y, int32_t x_distance,
    int32_t y_distance, int32_t pixels, int32_t channels, int32_t columns, int32_t rows,
    int32_t row_distance, int32_t zero_point, int32_t low, int32_t high, int8_t* copy) {
#if TVMGEN_MVE
  __asm__(TVMGEN_MVE_CONV2D_2X4_ROWS(TVMGEN_MVE_STORE_2X4_UP));
#else
  tvmgen_mve_conv2d(x, w, records, y, x_distance, y_distance, pixels, channels, columns, rows,
                    row_distance, zero_point, low, high, 2, copy, 1);
#endif
}
