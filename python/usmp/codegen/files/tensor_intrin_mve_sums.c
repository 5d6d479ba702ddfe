/* Sums and means of pixels for cores with MVE. */
#include "tensor_intrin_mve.c"

/* The factor and the zero point. */
#define TVMGEN_MVE_SUMS_FACTOR \
  "ldrd r8, r9, [sp, #152]\n"  \
  "rsb r8, #0\n"

#define TVMGEN_MVE_SUMS_RESCALE \
  "vqrdmulh.s32 \\sums, \\sums, r7\n" TVMGEN_MVE_HALF_AWAY "vrshl.s32 \\sums, r8\n"

/* Of 16 channels, or of up to eight of the last ones: q4 to q7, of channels 0, 2, 4, 6; of 1, 3, 5,
 * 7; of 8, 10, 12, 14; of 9, 11, 13, 15. In r0: x; r1: y; r2: pixels; r3: channels; r6: offset; r7,
 * r8: factor; r9: zero point; r10: channels to do; r11: how many at a time; limits at sp + limits.
 */
#define TVMGEN_MVE_SUMS(factor, rescale, limits) \
  TVMGEN_MVE_ENTER                               \
  "ldrd r6, r7, [sp, #144]\n" factor             \
  "mov r10, r3\n"                                \
  "1:\n"                                         \
  ".irp sums, q4, q5, q6, q7\n"                  \
  "vdup.32 \\sums, r6\n"                         \
  ".endr\n"                                      \
  "mov r4, r0\n"                                 \
  "mov r5, r2\n"                                 \
  "2:\n"                                         \
  "mov r12, r5\n"                                \
  "cmp r12, #256\n"                              \
  "it hi\n"                                      \
  "movhi r12, #256\n"                            \
  "sub r5, r12\n"                                \
  "dls lr, r12\n"                                \
  "vmov.i32 q0, #0\n"                            \
  "vmov.i32 q1, #0\n"                            \
  "mov r11, #8\n"                                \
  "cmp r10, #16\n"                               \
  "blo 4f\n"                                     \
  "mov r11, #16\n"                               \
  "3:\n"                                         \
  "vldrb.s16 q2, [r4]\n"                         \
  "vadd.i16 q0, q0, q2\n"                        \
  "vldrb.s16 q3, [r4, #8]\n"                     \
  "vadd.i16 q1, q1, q3\n"                        \
  "add r4, r3\n"                                 \
  "le lr, 3b\n"                                  \
  "b 6f\n"                                       \
  "4:\n"                                         \
  "vctp.16 r10\n"                                \
  "5:\n"                                         \
  "vpst\n"                                       \
  "vldrbt.s16 q2, [r4]\n"                        \
  "vadd.i16 q0, q0, q2\n"                        \
  "add r4, r3\n"                                 \
  "le lr, 5b\n"                                  \
  "6:\n"                                         \
  "vmovlb.s16 q2, q0\n"                          \
  "vadd.i32 q4, q4, q2\n"                        \
  "vmovlt.s16 q3, q0\n"                          \
  "vadd.i32 q5, q5, q3\n"                        \
  "vmovlb.s16 q2, q1\n"                          \
  "vadd.i32 q6, q6, q2\n"                        \
  "vmovlt.s16 q3, q1\n"                          \
  "vadd.i32 q7, q7, q3\n"                        \
  "cmp r5, #0\n"                                 \
  "bne 2b\n"                                     \
  ".irp sums, q4, q5, q6, q7\n" rescale          \
  ".endr\n"                                      \
  "vqmovnb.s32 q0, q4\n"                         \
  "vqmovnt.s32 q0, q5\n"                         \
  "vqmovnb.s32 q1, q6\n"                         \
  "vqmovnt.s32 q1, q7\n"                         \
  "ldrd r4, r5, [sp, #" limits                   \
  "]\n"                                          \
  "vdup.16 q2, r4\n"                             \
  "vdup.16 q3, r5\n"                             \
  ".irp sums, q0, q1\n"                          \
  "vqadd.s16 \\sums, \\sums, r9\n"               \
  "vmax.s16 \\sums, \\sums, q2\n"                \
  "vmin.s16 \\sums, \\sums, q3\n"                \
  ".endr\n"                                      \
  "vctp.16 r10\n"                                \
  "vpst\n"                                       \
  "vstrbt.16 q0, [r1]\n"                         \
  "cmp r10, #16\n"                               \
  "blo 7f\n"                                     \
  "vstrb.16 q1, [r1, #8]\n"                      \
  "7:\n"                                         \
  "add r0, r11\n"                                \
  "add r1, r11\n"                                \
  "subs r10, r11\n"                              \
  "bgt 1b\n" TVMGEN_MVE_LEAVE

/* The sum of at least one pixel in a line and an offset, by channel: multiplied by multiplier /
 * 2^31 and shifted right by 1 to 31. */
TVMGEN_MVE_FUNCTION void tvmgen_mve_sums(const int8_t* x, int8_t* y, int32_t pixels,
                                         int32_t channels, int32_t offset, int32_t multiplier,
                                         int32_t shift, int32_t zero_point, int32_t low,
                                         int32_t high) {
#if TVMGEN_MVE
  __asm__(TVMGEN_MVE_SUMS(TVMGEN_MVE_SUMS_FACTOR, TVMGEN_MVE_SUMS_RESCALE, "160"));
#else
  for (int32_t c = 0; c < channels; ++c) {
    int32_t sum = offset;
    for (int32_t pixel = 0; pixel < pixels; ++pixel) sum += x[pixel * channels + c];
    const int32_t value = tvmgen_mve_rescale(sum, -shift & 255, multiplier, 0) + zero_point;
    y[c] = tvmgen_mve_limited(value, low, high);
  }
#endif
}
