/* Convolution of four pixels and one channel at a time, of few channels, rescaled as floats, for
 * cores with MVE of floats. */
#include "tensor_intrin_mve_as_float.c"
#include "tensor_intrin_mve_conv2d_4x1.c"

#define TVMGEN_MVE_CHANNEL_4X1_AS_FLOAT \
  "ldrd r1, r3, [sp, #136]\n"            \
  "ldrd r7, r8, [sp, #144]\n"            \
  "movs r0, #0\n"                        \
  "movs r2, #0\n"                        \
  "movs r4, #0\n"                        \
  "movs r6, #0\n"                        \
  "ldr r9, [sp, #276]\n"                 \
  "3:\n" TVMGEN_MVE_ROW_4X1              \
  "subs r9, #1\n"                        \
  "beq 6f\n"                             \
  "ldr lr, [sp, #132]\n"                 \
  "add r1, lr\n"                         \
  "add r3, lr\n"                         \
  "add r7, lr\n"                         \
  "add r8, lr\n"                         \
  "b 3b\n" TVMGEN_MVE_FEW_4X1            \
  "8:\n"                                 \
  "ldr r1, [sp, #136]\n"                 \
  "movs r0, #0\n"                        \
  "ldr r9, [sp, #276]\n"                 \
  "9:\n" TVMGEN_MVE_ROW_1X1              \
  "subs r9, #1\n"                        \
  "beq 6f\n"                             \
  "ldr lr, [sp, #132]\n"                 \
  "add r1, lr\n"                         \
  "b 9b\n"                               \
  "6:\n"                                 \
  "vmov q0[2], q0[0], r0, r4\n"          \
  "vmov q0[3], q0[1], r2, r6\n"          \
  "ldrd r0, r2, [r10], #8\n"             \
  "vadd.i32 q0, q0, r0\n" \
  TVMGEN_MVE_MULTIPLY_AS_FLOAT("q0", "r2") \
  "vqadd.s32 q0, q0, q7\n"                \
  "vmax.s32 q0, q0, q6\n"                \
  "vmin.s32 q0, q0, q5\n"                \
  "vstrw.32 q0, [r12], #16\n"

#define TVMGEN_MVE_CONV2D_4X1_AS_FLOAT                                 \
  TVMGEN_MVE_BEGIN_4X1                                                 \
  "1:\n" TVMGEN_MVE_PIXELS_4X1 "10:\n" TVMGEN_MVE_CHANNEL_4X1_AS_FLOAT \
  "subs r11, #1\n"                                                     \
  "bgt 10b\n"                                                          \
  "bmi 8b\n" TVMGEN_MVE_STORE_4X1                                      \
  "subs r4, #4\n"                                                      \
  "str r4, [sp, #264]\n"                                               \
  "bgt 1b\n"                                                           \
  "add sp, #112\n" TVMGEN_MVE_LEAVE

TVMGEN_MVE_FLOAT_FUNCTION void tvmgen_mve_conv2d_4x1_as_float(
    const int8_t* x, const int8_t* w, const int32_t* records, int8_t* y, int32_t x_distance,
    int32_t y_distance, int32_t pixels, int32_t channels, int32_t columns, int32_t rows,
    int32_t row_distance, int32_t zero_point, int32_t low, int32_t high) {
#if TVMGEN_MVE_FLOAT
  __asm__(TVMGEN_MVE_CONV2D_4X1_AS_FLOAT);
#else
  tvmgen_mve_conv2d_as_float(x, w, records, y, x_distance, y_distance, pixels, channels, columns,
                             rows, row_distance, zero_point, low, high, 4, 0, 0);
#endif
}
