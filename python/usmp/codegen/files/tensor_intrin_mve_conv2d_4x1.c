/* Convolution of four pixels and one channel at a time, of few channels, for cores with MVE. */
#include "tensor_intrin_mve.c"

/* In memory: sp + 0: results of seven channels; 112: weights, then records; 120: x, then y; 128:
 * columns of a row but the last ones, up to 16, in vectors; 132: from there to the next row; 136:
 * the pixels; from 256 on: the arguments after the first four, 272: the last columns. */
#define TVMGEN_MVE_BEGIN_4X1  \
  TVMGEN_MVE_ENTER            \
  "sub sp, #112\n"            \
  "strd r1, r2, [sp, #112]\n" \
  "strd r0, r3, [sp, #120]\n" \
  "ldr r4, [sp, #272]\n"      \
  "sub r4, #1\n"              \
  "lsr r5, r4, #4\n"          \
  "and r4, #15\n"             \
  "add r4, #1\n"              \
  "str r4, [sp, #272]\n"      \
  "ldr r6, [sp, #280]\n"      \
  "sub r6, r6, r5, lsl #4\n"  \
  "strd r5, r6, [sp, #128]\n" \
  "movs r0, #0\n"             \
  "vidup.u32 q4, r0, #1\n"    \
  "ldr r0, [sp, #260]\n"      \
  "vmul.i32 q4, q4, r0\n"     \
  "ldr r0, [sp, #284]\n"      \
  "vdup.32 q7, r0\n"          \
  "ldr r0, [sp, #288]\n"      \
  "vdup.32 q6, r0\n"          \
  "ldr r0, [sp, #292]\n"      \
  "vdup.32 q5, r0\n"

/* Where the next four pixels are; the last one stands for those after it. */
#define TVMGEN_MVE_PIXELS_4X1 \
  "ldr r0, [sp, #120]\n"      \
  "ldr r2, [sp, #256]\n"      \
  "ldr r4, [sp, #264]\n"      \
  "add r1, r0, r2\n"          \
  "cmp r4, #4\n"              \
  "blo 7f\n"                  \
  "strd r0, r1, [sp, #136]\n" \
  "add r0, r1, r2\n"          \
  "add r1, r0, r2\n"          \
  "2:\n"                      \
  "strd r0, r1, [sp, #144]\n" TVMGEN_MVE_CHANNELS_4X1

#define TVMGEN_MVE_CHANNELS_4X1 \
  "ldr r0, [sp, #272]\n"        \
  "vctp.8 r0\n"                 \
  "ldrd r5, r10, [sp, #112]\n"  \
  "ldr r11, [sp, #268]\n"       \
  "mov r12, sp\n"

/* Up to three. Of a single one, channels are counted in r11 from -2^31 on, less one. */
#define TVMGEN_MVE_FEW_4X1                       \
  "7:\n"                                         \
  "cmp r4, #2\n"                                 \
  "blo 7f\n"                                     \
  "strd r0, r1, [sp, #136]\n"                    \
  "it hi\n"                                      \
  "addhi r1, r2\n"                               \
  "mov r0, r1\n"                                 \
  "b 2b\n"                                       \
  "7:\n"                                         \
  "str r0, [sp, #136]\n" TVMGEN_MVE_CHANNELS_4X1 \
  "sub r11, #1\n"                                \
  "add r11, #0x80000000\n"

/* The last columns' weights in q1, and a step over the others: of the pixel at r1, its sum in r0.
 */
#define TVMGEN_MVE_FIRST_PIXEL \
  "vldrb.8 q1, [r5], #16\n"    \
  "ldr lr, [sp, #128]\n"       \
  "wls lr, lr, 5f\n"           \
  "4:\n"                       \
  "vldrb.8 q0, [r5], #16\n"    \
  "vldrb.8 q2, [r1], #16\n"    \
  "vmladava.s8 r0, q2, q0\n"

/* A row of columns: sums in r0, r2, r4, r6 of pixels at r1, r3, r7, r8, weights at r5. */
#define TVMGEN_MVE_ROW_4X1   \
  TVMGEN_MVE_FIRST_PIXEL     \
  "vldrb.8 q3, [r3], #16\n"  \
  "vmladava.s8 r2, q3, q0\n" \
  "vldrb.8 q2, [r7], #16\n"  \
  "vmladava.s8 r4, q2, q0\n" \
  "vldrb.8 q3, [r8], #16\n"  \
  "vmladava.s8 r6, q3, q0\n" \
  "le lr, 4b\n"              \
  "5:\n"                     \
  "vpstt\n"                  \
  "vldrbt.8 q2, [r1]\n"      \
  "vldrbt.8 q3, [r3]\n"      \
  "vmladava.s8 r0, q2, q1\n" \
  "vmladava.s8 r2, q3, q1\n" \
  "vpstt\n"                  \
  "vldrbt.8 q2, [r7]\n"      \
  "vldrbt.8 q3, [r8]\n"      \
  "vmladava.s8 r4, q2, q1\n" \
  "vmladava.s8 r6, q3, q1\n"

/* The same of one pixel, at r1: the sum in r0. */
#define TVMGEN_MVE_ROW_1X1 \
  TVMGEN_MVE_FIRST_PIXEL   \
  "le lr, 4b\n"            \
  "5:\n"                   \
  "vpst\n"                 \
  "vldrbt.8 q2, [r1]\n"    \
  "vmladava.s8 r0, q2, q1\n"

/* Rescales the sums of four pixels with the record in r0 and r2, and adds the zero point in q7. */
#define TVMGEN_MVE_RESCALE_4X1           \
  "asr r4, r0, #8\n"                     \
  "vadd.i32 q0, q0, r4\n"                \
  "vqrdmulh.s32 q0, q0, r2\n"            \
  ".irp sums, q0\n" TVMGEN_MVE_HALF_AWAY \
  ".endr\n"                              \
  "vrshl.s32 q0, r0\n"                   \
  "vadd.i32 q0, q0, q7\n"

#define TVMGEN_MVE_CHANNEL_4X1(rescale) \
  "ldrd r1, r3, [sp, #136]\n"           \
  "ldrd r7, r8, [sp, #144]\n"           \
  "movs r0, #0\n"                       \
  "movs r2, #0\n"                       \
  "movs r4, #0\n"                       \
  "movs r6, #0\n"                       \
  "ldr r9, [sp, #276]\n"                \
  "3:\n" TVMGEN_MVE_ROW_4X1             \
  "subs r9, #1\n"                       \
  "beq 6f\n"                            \
  "ldr lr, [sp, #132]\n"                \
  "add r1, lr\n"                        \
  "add r3, lr\n"                        \
  "add r7, lr\n"                        \
  "add r8, lr\n"                        \
  "b 3b\n" TVMGEN_MVE_FEW_4X1           \
  "8:\n"                                \
  "ldr r1, [sp, #136]\n"                \
  "movs r0, #0\n"                       \
  "ldr r9, [sp, #276]\n"                \
  "9:\n" TVMGEN_MVE_ROW_1X1             \
  "subs r9, #1\n"                       \
  "beq 6f\n"                            \
  "ldr lr, [sp, #132]\n"                \
  "add r1, lr\n"                        \
  "b 9b\n"                              \
  "6:\n"                                \
  "vmov q0[2], q0[0], r0, r4\n"         \
  "vmov q0[3], q0[1], r2, r6\n"         \
  "ldrd r0, r2, [r10], #8\n" rescale    \
  "vmax.s32 q0, q0, q6\n"               \
  "vmin.s32 q0, q0, q5\n"               \
  "vstrw.32 q0, [r12], #16\n"

#define TVMGEN_MVE_STORE_4X1  \
  "ldr r4, [sp, #264]\n"      \
  "vctp.32 r4\n"              \
  "ldrd r0, r2, [sp, #120]\n" \
  "mov r1, sp\n"              \
  "mov r3, r2\n"              \
  "ldr lr, [sp, #268]\n"      \
  "dls lr, lr\n"              \
  "7:\n"                      \
  "vldrw.32 q0, [r1], #16\n"  \
  "vpst\n"                    \
  "vstrbt.32 q0, [r3, q4]\n"  \
  "add r3, #1\n"              \
  "le lr, 7b\n"               \
  "ldr r1, [sp, #256]\n"      \
  "add r0, r0, r1, lsl #2\n"  \
  "ldr r1, [sp, #260]\n"      \
  "add r2, r2, r1, lsl #2\n"  \
  "strd r0, r2, [sp, #120]\n"

#define TVMGEN_MVE_CONV2D_4X1(rescale) \
  TVMGEN_MVE_BEGIN_4X1                 \
  "1:\n" TVMGEN_MVE_PIXELS_4X1 "10:\n" TVMGEN_MVE_CHANNEL_4X1(rescale) \
  "subs r11, #1\n"                                            \
  "bgt 10b\n"                                                 \
  "bmi 8b\n" TVMGEN_MVE_STORE_4X1                             \
  "subs r4, #4\n"                                             \
  "str r4, [sp, #264]\n"                                      \
  "bgt 1b\n"                                                  \
  "add sp, #112\n" TVMGEN_MVE_LEAVE

/* Pixels in a line, up to seven channels. Each channel has weights [rows][columns, the last of
 * them, up to 16, filled up with zeros to 16, before the others], and a record of two numbers. All
 * channels of four pixels are computed before any of them is stored. */
TVMGEN_MVE_FUNCTION void tvmgen_mve_conv2d_4x1(const int8_t* x, const int8_t* w,
                                               const int32_t* records, int8_t* y,
                                               int32_t x_distance, int32_t y_distance,
                                               int32_t pixels, int32_t channels, int32_t columns,
                                               int32_t rows, int32_t row_distance,
                                               int32_t zero_point, int32_t low, int32_t high) {
#if TVMGEN_MVE
  __asm__(TVMGEN_MVE_CONV2D_4X1(TVMGEN_MVE_RESCALE_4X1));
#else
  const int32_t blocks = (columns + 15) / 16;
  for (int32_t pixel = 0; pixel < pixels; pixel += 4) {
    const int32_t some = pixels - pixel < 4 ? pixels - pixel : 4;
    int8_t results[28];
    for (int32_t i = 0; i < some * channels; ++i) {
      const int32_t c = i % channels;
      int32_t sum = 0;
      for (int32_t row = 0; row < rows; ++row) {
        const int8_t* const from = x + (pixel + i / channels) * x_distance + row * row_distance;
        const int8_t* const by = w + (c * rows + row) * blocks * 16;
        for (int32_t column = 0; column < columns; ++column) {
          sum += from[column] * by[(column / 16 + 1) % blocks * 16 + column % 16];
        }
      }
      const int32_t value =
          tvmgen_mve_rescale(sum, records[2 * c], records[2 * c + 1], 0) + zero_point;
      results[i] = tvmgen_mve_limited(value, low, high);
    }
    for (int32_t i = 0; i < some * channels; ++i) {
      y[(pixel + i / channels) * y_distance + i % channels] = results[i];
    }
  }
#endif
}
