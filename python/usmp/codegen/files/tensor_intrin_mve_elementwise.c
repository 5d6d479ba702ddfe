/* Elements of one or two tensors, means and greatest values of windows for cores with MVE. */
#include "tensor_intrin_mve.c"

/* In r0, r1: the terms; r2: y; r4: offset of b; r5, r6: its factor; r7: its sign; r9: offset of a;
 * r10, r11: factor of the sum; r12: zero point; q4: 2^19 or its negative; q5, q6: limits; q7:
 * 2^left_b. */
#define TVMGEN_MVE_ADD          \
  TVMGEN_MVE_ENTER              \
  "dlstp.32 lr, r3\n"           \
  "ldrd r3, r9, [sp, #144]\n"   \
  "vdup.32 q4, r3\n"            \
  "ldr r3, [sp, #152]\n"        \
  "mov r4, #1\n"                \
  "lsl r3, r4, r3\n"            \
  "vdup.32 q7, r3\n"            \
  "ldr r4, [sp, #156]\n"        \
  "ldrd r5, r6, [sp, #160]\n"   \
  "rsb r6, #0\n"                \
  "ldr r7, [sp, #168]\n"        \
  "ldrd r10, r11, [sp, #172]\n" \
  "rsb r11, #0\n"               \
  "ldr r12, [sp, #180]\n"       \
  "ldr r3, [sp, #184]\n"        \
  "vdup.32 q5, r3\n"            \
  "ldr r3, [sp, #188]\n"        \
  "vdup.32 q6, r3\n"            \
  "1:\n"                        \
  "vldrb.s32 q1, [r1], #4\n"    \
  "vmlas.s32 q1, q7, r4\n"      \
  "vqrdmulh.s32 q1, q1, r5\n"   \
  "vshr.s32 q2, q1, #31\n"      \
  "vldrb.s32 q0, [r0], #4\n"    \
  "vadd.i32 q1, q1, q2\n"       \
  "vrshl.s32 q1, r6\n"          \
  "vmlas.s32 q0, q4, r9\n"      \
  "vmla.s32 q0, q1, r7\n"       \
  "vqrdmulh.s32 q0, q0, r10\n"  \
  "vshr.s32 q2, q0, #31\n"      \
  "vadd.i32 q0, q0, q2\n"       \
  "vrshl.s32 q0, r11\n"         \
  "vadd.i32 q0, q0, r12\n"      \
  "vmax.s32 q0, q0, q5\n"       \
  "vmin.s32 q0, q0, q6\n"       \
  "vstrb.32 q0, [r2], #4\n"     \
  "letp lr, 1b\n" TVMGEN_MVE_LEAVE

/* In r0, r1: the factors; r2: y; r4, r5: their offsets; r10, r11: factor of the product; r12: zero
 * point; q5, q6: limits. */
#define TVMGEN_MVE_MULTIPLY     \
  TVMGEN_MVE_ENTER              \
  "dlstp.32 lr, r3\n"           \
  "ldrd r4, r5, [sp, #144]\n"   \
  "ldrd r10, r11, [sp, #152]\n" \
  "rsb r11, #0\n"               \
  "ldr r12, [sp, #160]\n"       \
  "ldr r3, [sp, #164]\n"        \
  "vdup.32 q5, r3\n"            \
  "ldr r3, [sp, #168]\n"        \
  "vdup.32 q6, r3\n"            \
  "1:\n"                        \
  "vldrb.s32 q0, [r0], #4\n"    \
  "vadd.i32 q0, q0, r4\n"       \
  "vldrb.s32 q1, [r1], #4\n"    \
  "vadd.i32 q1, q1, r5\n"       \
  "vmul.i32 q0, q0, q1\n"       \
  "vqrdmulh.s32 q0, q0, r10\n"  \
  "vshr.s32 q2, q0, #31\n"      \
  "vadd.i32 q0, q0, q2\n"       \
  "vrshl.s32 q0, r11\n"         \
  "vadd.i32 q0, q0, r12\n"      \
  "vmax.s32 q0, q0, q5\n"       \
  "vmin.s32 q0, q0, q6\n"       \
  "vstrb.32 q0, [r2], #4\n"     \
  "letp lr, 1b\n" TVMGEN_MVE_LEAVE

/* In r0: x; r1: y; r3: offset; r10, r11: factor; r12: zero point; q4: 2^left; q5, q6: limits; q7: 1
 * if it is shifted right, or 0. */
#define TVMGEN_MVE_REQUANTIZE   \
  TVMGEN_MVE_ENTER              \
  "dlstp.32 lr, r2\n"           \
  "ldr r4, [sp, #144]\n"        \
  "mov r5, #1\n"                \
  "lsl r4, r5, r4\n"            \
  "vdup.32 q4, r4\n"            \
  "ldrd r10, r11, [sp, #148]\n" \
  "cmp r11, #0\n"               \
  "cset r4, ne\n"               \
  "vdup.32 q7, r4\n"            \
  "rsb r11, #0\n"               \
  "ldr r12, [sp, #156]\n"       \
  "ldr r4, [sp, #160]\n"        \
  "vdup.32 q5, r4\n"            \
  "ldr r4, [sp, #164]\n"        \
  "vdup.32 q6, r4\n"            \
  "1:\n"                        \
  "vldrb.s32 q0, [r0], #4\n"    \
  "vmlas.s32 q0, q4, r3\n"      \
  "vqrdmulh.s32 q0, q0, r10\n"  \
  "vmulh.s32 q1, q0, q7\n"      \
  "vadd.i32 q0, q0, q1\n"       \
  "vrshl.s32 q0, r11\n"         \
  "vadd.i32 q0, q0, r12\n"      \
  "vmax.s32 q0, q0, q5\n"       \
  "vmin.s32 q0, q0, q6\n"       \
  "vstrb.32 q0, [r1], #4\n"     \
  "letp lr, 1b\n" TVMGEN_MVE_LEAVE

#define TVMGEN_MVE_EXTREME(choose) \
  "push {r4, lr}\n"                \
  "dlstp.8 lr, r3\n"               \
  "1:\n"                           \
  "vldrb.8 q0, [r0], #16\n"        \
  "vldrb.8 q1, [r1], #16\n" choose \
  " q0, q0, q1\n"                  \
  "vstrb.8 q0, [r2], #16\n"        \
  "letp lr, 1b\n"                  \
  "pop {r4, pc}\n"

#define TVMGEN_MVE_LOOK_UP  \
  "push {r4, lr}\n"         \
  "dlstp.8 lr, r3\n"        \
  "vmov.i8 q1, #128\n"      \
  "1:\n"                    \
  "vldrb.8 q0, [r0], #16\n" \
  "veor q0, q0, q1\n"       \
  "vldrb.u8 q2, [r1, q0]\n" \
  "vstrb.8 q2, [r2], #16\n" \
  "letp lr, 1b\n"           \
  "pop {r4, pc}\n"

/* In r0: x; r1: y; r2: rows; r3: columns; r4: row distance, less the columns; r5: channels; r6:
 * reciprocal; r7: its shift; r8: half of the count; q6, q7: limits. */
#define TVMGEN_MVE_AVERAGE_POOL \
  TVMGEN_MVE_ENTER              \
  "ldrd r4, r5, [sp, #144]\n"   \
  "mls r4, r3, r5, r4\n"        \
  "ldrd r6, r7, [sp, #152]\n"   \
  "rsb r7, #0\n"                \
  "vdup.16 q5, r6\n"            \
  "ldrd r8, r9, [sp, #160]\n"   \
  "vdup.16 q6, r9\n"            \
  "ldr r9, [sp, #168]\n"        \
  "vdup.16 q7, r9\n"            \
  "dlstp.16 lr, r5\n"           \
  "1:\n"                        \
  "mov r6, r0\n"                \
  "mov r10, r2\n"               \
  "vmov.i32 q0, #0\n"           \
  "2:\n"                        \
  "mov r11, r3\n"               \
  "3:\n"                        \
  "vldrb.s16 q1, [r6]\n"        \
  "add r6, r5\n"                \
  "vadd.i16 q0, q0, q1\n"       \
  "subs r11, #1\n"              \
  "bne 3b\n"                    \
  "add r6, r4\n"                \
  "subs r10, #1\n"              \
  "bne 2b\n"                    \
  "add r0, #8\n"                \
  "vshr.s16 q1, q0, #15\n"      \
  "veor q0, q0, q1\n"           \
  "vsub.i16 q0, q0, q1\n"       \
  "vadd.i16 q0, q0, r8\n"       \
  "vmulh.u16 q0, q0, q5\n"      \
  "vshl.u16 q0, r7\n"           \
  "veor q0, q0, q1\n"           \
  "vsub.i16 q0, q0, q1\n"       \
  "vmax.s16 q0, q0, q6\n"       \
  "vmin.s16 q0, q0, q7\n"       \
  "vstrb.16 q0, [r1], #8\n"     \
  "letp lr, 1b\n" TVMGEN_MVE_LEAVE

/* In r0: x; r1: y; r2: rows; r3: columns; r4: row distance, less the columns; r5: channels; q6, q7:
 * limits. */
#define TVMGEN_MVE_MAX_POOL   \
  TVMGEN_MVE_ENTER            \
  "ldrd r4, r5, [sp, #144]\n" \
  "mls r4, r3, r5, r4\n"      \
  "ldrd r6, r7, [sp, #152]\n" \
  "vdup.8 q6, r6\n"           \
  "vdup.8 q7, r7\n"           \
  "dlstp.8 lr, r5\n"          \
  "1:\n"                      \
  "mov r6, r0\n"              \
  "mov r10, r2\n"             \
  "vmov q0, q6\n"             \
  "2:\n"                      \
  "mov r11, r3\n"             \
  "3:\n"                      \
  "vldrb.8 q1, [r6]\n"        \
  "add r6, r5\n"              \
  "vmax.s8 q0, q0, q1\n"      \
  "subs r11, #1\n"            \
  "bne 3b\n"                  \
  "add r6, r4\n"              \
  "subs r10, #1\n"            \
  "bne 2b\n"                  \
  "add r0, #16\n"             \
  "vmin.s8 q0, q0, q7\n"      \
  "vstrb.8 q0, [r1], #16\n"   \
  "letp lr, 1b\n" TVMGEN_MVE_LEAVE

/* TFLite's sum of two tensors at other scales, or their difference. The factor of a is one half at
 * 20 bits below the point: scale_a is 2^19, or -2^19 if a is subtracted; b has left_b bits before
 * it is multiplied by factor_b / 2^31 and shifted right, and then sign_b, 1 or -1. Each offset is
 * minus the zero point at those bits, with the sign of scale_a; both shifts are 1 to 31. */
TVMGEN_MVE_FUNCTION void tvmgen_mve_add(const int8_t* a, const int8_t* b, int8_t* y, int32_t count,
                                        int32_t scale_a, int32_t offset_a, int32_t left_b,
                                        int32_t offset_b, int32_t multiplier_b, int32_t shift_b,
                                        int32_t sign_b, int32_t multiplier, int32_t shift,
                                        int32_t zero_point, int32_t low, int32_t high) {
#if TVMGEN_MVE
  __asm__(TVMGEN_MVE_ADD);
#else
  for (int32_t i = 0; i < count; ++i) {
    const int32_t term = b[i] * ((int32_t)1 << left_b) + offset_b;
    const int32_t sum = a[i] * scale_a + offset_a +
                        sign_b * tvmgen_mve_rescale(term, -shift_b & 255, multiplier_b, 0);
    const int32_t value = tvmgen_mve_rescale(sum, -shift & 255, multiplier, 0) + zero_point;
    y[i] = tvmgen_mve_limited(value, low, high);
  }
#endif
}

/* TFLite's product of two tensors, of which each offset is minus the zero point; the shift is to
 * the right, 1 to 31. */
TVMGEN_MVE_FUNCTION void tvmgen_mve_multiply(const int8_t* a, const int8_t* b, int8_t* y,
                                             int32_t count, int32_t offset_a, int32_t offset_b,
                                             int32_t multiplier, int32_t shift, int32_t zero_point,
                                             int32_t low, int32_t high) {
#if TVMGEN_MVE
  __asm__(TVMGEN_MVE_MULTIPLY);
#else
  for (int32_t i = 0; i < count; ++i) {
    const int32_t product = (a[i] + offset_a) * (b[i] + offset_b);
    const int32_t value = tvmgen_mve_rescale(product, -shift & 255, multiplier, 0) + zero_point;
    y[i] = tvmgen_mve_limited(value, low, high);
  }
#endif
}

/* TFLite's rescaling of a tensor: shifted left by 0 to 20, multiplied by multiplier / 2^31 and
 * shifted right by 0 to 31; the offset is minus the zero point, shifted left. */
TVMGEN_MVE_FUNCTION void tvmgen_mve_requantize(const int8_t* x, int8_t* y, int32_t count,
                                               int32_t offset, int32_t left, int32_t multiplier,
                                               int32_t right, int32_t zero_point, int32_t low,
                                               int32_t high) {
#if TVMGEN_MVE
  __asm__(TVMGEN_MVE_REQUANTIZE);
#else
  for (int32_t i = 0; i < count; ++i) {
    const int32_t term = x[i] * ((int32_t)1 << left) + offset;
    const int32_t product = (int32_t)(((int64_t)term * multiplier + 0x40000000) >> 31);
    const int32_t value =
        (right ? tvmgen_mve_rescale(term, -right & 255, multiplier, 0) : product) + zero_point;
    y[i] = tvmgen_mve_limited(value, low, high);
  }
#endif
}

TVMGEN_MVE_FUNCTION void tvmgen_mve_maximum(const int8_t* a, const int8_t* b, int8_t* y,
                                            int32_t count) {
#if TVMGEN_MVE
  __asm__(TVMGEN_MVE_EXTREME("vmax.s8"));
#else
  for (int32_t i = 0; i < count; ++i) y[i] = a[i] > b[i] ? a[i] : b[i];
#endif
}

TVMGEN_MVE_FUNCTION void tvmgen_mve_minimum(const int8_t* a, const int8_t* b, int8_t* y,
                                            int32_t count) {
#if TVMGEN_MVE
  __asm__(TVMGEN_MVE_EXTREME("vmin.s8"));
#else
  for (int32_t i = 0; i < count; ++i) y[i] = a[i] < b[i] ? a[i] : b[i];
#endif
}

/* What a table of 256 bytes has for each element, from that for -128 on. */
TVMGEN_MVE_FUNCTION void tvmgen_mve_look_up(const int8_t* x, const int8_t* table, int8_t* y,
                                            int32_t count) {
#if TVMGEN_MVE
  __asm__(TVMGEN_MVE_LOOK_UP);
#else
  for (int32_t i = 0; i < count; ++i) y[i] = table[x[i] + 128];
#endif
}

/* The mean of up to 256 pixels under a window, halves away from zero: the magnitude of the sum and
 * half is multiplied by reciprocal / 2^(16 + shift). */
TVMGEN_MVE_FUNCTION void tvmgen_mve_average_pool(const int8_t* x, int8_t* y, int32_t rows,
                                                 int32_t columns, int32_t row_distance,
                                                 int32_t channels, int32_t reciprocal,
                                                 int32_t shift, int32_t half, int32_t low,
                                                 int32_t high) {
#if TVMGEN_MVE
  __asm__(TVMGEN_MVE_AVERAGE_POOL);
#else
  for (int32_t c = 0; c < channels; ++c) {
    int32_t sum = 0;
    for (int32_t row = 0; row < rows; ++row) {
      for (int32_t column = 0; column < columns; ++column) {
        sum += x[row * row_distance + column * channels + c];
      }
    }
    const uint32_t magnitude = (uint32_t)((sum < 0 ? -sum : sum) + half) * (uint32_t)reciprocal;
    const int32_t quotient = (int32_t)(magnitude >> 16 >> shift);
    const int32_t value = sum < 0 ? -quotient : quotient;
    y[c] = tvmgen_mve_limited(value, low, high);
  }
#endif
}

/* The greatest values of pixels under a window of at least one. */
TVMGEN_MVE_FUNCTION void tvmgen_mve_max_pool(const int8_t* x, int8_t* y, int32_t rows,
                                             int32_t columns, int32_t row_distance,
                                             int32_t channels, int32_t low, int32_t high) {
#if TVMGEN_MVE
  __asm__(TVMGEN_MVE_MAX_POOL);
#else
  for (int32_t c = 0; c < channels; ++c) {
    int32_t greatest = low;
    for (int32_t row = 0; row < rows; ++row) {
      for (int32_t column = 0; column < columns; ++column) {
        const int32_t value = x[row * row_distance + column * channels + c];
        greatest = value > greatest ? value : greatest;
      }
    }
    y[c] = (int8_t)(greatest < high ? greatest : high);
  }
#endif
}
