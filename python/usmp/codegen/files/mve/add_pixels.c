/* Rows of pixels that are added to sums, for cores with MVE. */
#include "common.c"

/* In r0: x; r1: sums; r2: pixels; r3: channels; r12: channels to do. Of 16 channels the pixels are
 * added in 16 bits, which are on the stack to be widened; of the last ones, four at a time. */
#define TVMGEN_MVE_ADD_PIXELS      \
  "push {r4, lr}\n"                \
  "sub sp, #32\n"                  \
  "mov r12, r3\n"                  \
  "subs r12, #16\n"                \
  "blo 3f\n"                       \
  "1:\n"                           \
  "mov r4, r0\n"                   \
  "vmov.i32 q0, #0\n"              \
  "vmov.i32 q1, #0\n"              \
  "dls lr, r2\n"                   \
  "2:\n"                           \
  "vldrb.s16 q2, [r4]\n"           \
  "vadd.i16 q0, q0, q2\n"          \
  "vldrb.s16 q3, [r4, #8]\n"       \
  "vadd.i16 q1, q1, q3\n"          \
  "add r4, r3\n"                   \
  "le lr, 2b\n"                    \
  "vstrw.32 q0, [sp]\n"            \
  "vstrw.32 q1, [sp, #16]\n"       \
  "mov r4, sp\n"                   \
  ".irp place, 0, 8, 16, 24\n"     \
  "vldrh.s32 q0, [r4, #\\place]\n" \
  "vldrw.32 q1, [r1]\n"            \
  "vadd.i32 q0, q0, q1\n"          \
  "vstrw.32 q0, [r1], #16\n"       \
  ".endr\n"                        \
  "add r0, #16\n"                  \
  "subs r12, #16\n"                \
  "bhs 1b\n"                       \
  "3:\n"                           \
  "adds r12, #16\n"                \
  "beq 6f\n"                       \
  "4:\n"                           \
  "vctp.32 r12\n"                  \
  "vpst\n"                         \
  "vldrwt.32 q0, [r1]\n"           \
  "mov r4, r0\n"                   \
  "dls lr, r2\n"                   \
  "5:\n"                           \
  "vpst\n"                         \
  "vldrbt.s32 q1, [r4]\n"          \
  "vadd.i32 q0, q0, q1\n"          \
  "add r4, r3\n"                   \
  "le lr, 5b\n"                    \
  "vpst\n"                         \
  "vstrwt.32 q0, [r1], #16\n"      \
  "add r0, #4\n"                   \
  "subs r12, #4\n"                 \
  "bhi 4b\n"                       \
  "6:\n"                           \
  "add sp, #32\n"                  \
  "pop {r4, pc}\n"

/* sums[c] += sum of x[k * channels + c] over k < pixels, of which there are 1 to 256. */
TVMGEN_MVE_FUNCTION void tvmgen_mve_add_pixels(const int8_t* x, int32_t* sums, int32_t pixels,
                                               int32_t channels) {
#if TVMGEN_MVE
  __asm__(TVMGEN_MVE_ADD_PIXELS);
#else
  for (int32_t pixel = 0; pixel < pixels; ++pixel)
    for (int32_t c = 0; c < channels; ++c) sums[c] += x[pixel * channels + c];
#endif
}
