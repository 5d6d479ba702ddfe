/* Rescaling by products of floats, as ONNX Runtime does it, for cores with MVE of floats.
 *
 * A sum with its bias becomes the nearest float of 24 bits, is multiplied by another one, and that
 * is rounded to the nearest integer, halves to the even one. MVE rounds so whatever FPSCR says, and
 * no float is so small that it would be flushed to zero. Where a record of other functions has
 * bias << 8 | (-shift & 255), that of these has the bias, and where it has the multiplier, the bits
 * of the factor as a float. Cores with MVE of integers only compile the portable C.
 */
#pragma once

#include "../arithmetic/fixed_point.c"
#include "common.c"

#if TVMGEN_MVE && (__ARM_FEATURE_MVE & 2)
#define TVMGEN_MVE_FLOAT 1
#define TVMGEN_MVE_FLOAT_FUNCTION TVMGEN_MVE_FUNCTION
#else
#define TVMGEN_MVE_FLOAT 0
#define TVMGEN_MVE_FLOAT_FUNCTION static inline
#if TVMGEN_MVE
#warning "portable C: the compiler lacks MVE of floats; compile with -mcpu=cortex-m55"
#endif
#endif

/* Multiplies integers by a vector or register of floats, and rounds. */
#define TVMGEN_MVE_MULTIPLY_AS_FLOAT(sums, factor) \
  "vcvt.f32.s32 " sums ", " sums                   \
  "\n"                                             \
  "vmul.f32 " sums ", " sums ", " factor           \
  "\n"                                             \
  "vcvtn.s32.f32 " sums ", " sums "\n"

/* The same, and adds the zero point in r12; limits are in q5 and q6. */
#define TVMGEN_MVE_LIMITED_AS_FLOAT(sums, factor) \
  TVMGEN_MVE_MULTIPLY_AS_FLOAT(sums, factor)      \
  "vqadd.s32 " sums ", " sums                     \
  ", r12\n"                                       \
  "vmax.s32 " sums ", " sums                      \
  ", q5\n"                                        \
  "vmin.s32 " sums ", " sums ", q6\n"

/* In r0, r1: the factors; r2: y; r4, r5: their offsets; r10: factor of the product. */
#define TVMGEN_MVE_MULTIPLY_ELEMENTS_AS_FLOAT \
  TVMGEN_MVE_ENTER                            \
  "dlstp.32 lr, r3\n"                              \
  "ldrd r4, r5, [sp, #144]\n"                      \
  "ldrd r10, r12, [sp, #152]\n"                    \
  "ldr r3, [sp, #160]\n"                           \
  "vdup.32 q5, r3\n"                               \
  "ldr r3, [sp, #164]\n"                           \
  "vdup.32 q6, r3\n"                               \
  "1:\n"                                           \
  "vldrb.s32 q0, [r0], #4\n"                       \
  "vadd.i32 q0, q0, r4\n"                          \
  "vldrb.s32 q1, [r1], #4\n"                       \
  "vadd.i32 q1, q1, r5\n"                          \
  "vmul.i32 q0, q0, q1\n"                          \
  TVMGEN_MVE_LIMITED_AS_FLOAT("q0", "r10")         \
  "vstrb.32 q0, [r2], #4\n"                        \
  "letp lr, 1b\n" TVMGEN_MVE_LEAVE

/* In r0: x; r1: y; r3: offset; r10: factor. */
#define TVMGEN_MVE_REQUANTIZE_AS_FLOAT \
  TVMGEN_MVE_ENTER                     \
  "dlstp.32 lr, r2\n"                      \
  "ldrd r10, r12, [sp, #144]\n"            \
  "ldr r4, [sp, #152]\n"                   \
  "vdup.32 q5, r4\n"                       \
  "ldr r4, [sp, #156]\n"                   \
  "vdup.32 q6, r4\n"                       \
  "1:\n"                                   \
  "vldrb.s32 q0, [r0], #4\n"               \
  "vadd.i32 q0, q0, r3\n"                  \
  TVMGEN_MVE_LIMITED_AS_FLOAT("q0", "r10") \
  "vstrb.32 q0, [r1], #4\n"                \
  "letp lr, 1b\n" TVMGEN_MVE_LEAVE

/* A sum with its bias as an integer of eight bits. */
TVMGEN_MVE_PORTABLE int8_t tvmgen_mve_limited_as_float(int32_t sum, int32_t factor,
                                                       int32_t zero_point, int32_t low,
                                                       int32_t high) {
  const int32_t value = tvmgen_multiply_by_float(sum, factor) + zero_point;
  return tvmgen_mve_limited(value, low, high);
}

/* Convolution of pixels in a line, as `tvmgen_mve_conv2d`, of one, two or four pixels at once: of
 * four, each channel has weights and a record by itself, and all are computed before any of them is
 * stored. With a `table`, the rows of the only pixel are at the addresses that it has. */
TVMGEN_MVE_PORTABLE void tvmgen_mve_conv2d_as_float(
    const int8_t* x, const int8_t* w, const int32_t* records, int8_t* y, int32_t x_distance,
    int32_t y_distance, int32_t pixels, int32_t channels, int32_t columns, int32_t rows,
    int32_t row_distance, int32_t zero_point, int32_t low, int32_t high, int32_t at_once,
    int8_t* copy, const int8_t* const* table) {
  const int32_t together = at_once == 4 ? 1 : 4, tile = at_once == 4 ? channels : 4;
  const int32_t whole = (columns - 1) / 16 * 16;
  const int32_t is_half = together == 4 && rows == 1 && columns - whole <= 8 && !table;
  const int32_t size = is_half ? 8 : 16;
  for (int32_t pixel = 0; pixel < pixels; pixel += at_once) {
    const int32_t some = pixels - pixel < at_once ? pixels - pixel : at_once;
    int8_t* const to = copy ? y : y + pixel * y_distance;
    for (int32_t first = 0; first < channels; first += tile) {
      int8_t results[28];
      for (int32_t i = 0; i < some * tile; ++i) {
        const int32_t c = first + i % tile, group = c / together, lane = c % together;
        const int32_t* const record = records + group * together * 2 + lane;
        int32_t sum = record[0];
        if (c >= channels) continue;
        for (int32_t row = 0; row < rows; ++row) {
          const int8_t* const from =
              table ? table[row] : x + (pixel + i / tile) * x_distance + row * row_distance;
          const int8_t* const last = w + (group * rows + row) * together * (whole + size);
          const int8_t* const by = last + together * size + lane * 16;
          for (int32_t k = 0; k < whole; ++k) sum += from[k] * by[k / 16 * 16 * together + k % 16];
          for (int32_t k = whole; k < columns; ++k) {
            sum += from[k] * last[lane * size + k - whole];
          }
        }
        results[i] = tvmgen_mve_limited_as_float(sum, record[together], zero_point, low, high);
      }
      for (int32_t i = 0; i < some * tile; ++i) {
        const int32_t c = first + i % tile;
        if (c < channels) to[i / tile * y_distance + c] = results[i];
      }
    }
    for (int32_t i = 0; copy && i < at_once * y_distance; ++i) {
      copy[pixel * y_distance + i] = y[i];
    }
  }
}

/* The product of two tensors, of which each offset is minus the zero point. */
TVMGEN_MVE_FLOAT_FUNCTION void tvmgen_mve_multiply_as_float(const int8_t* a, const int8_t* b,
                                                            int8_t* y, int32_t count,
                                                            int32_t offset_a, int32_t offset_b,
                                                            int32_t factor, int32_t zero_point,
                                                            int32_t low, int32_t high) {
#if TVMGEN_MVE_FLOAT
  __asm__(TVMGEN_MVE_MULTIPLY_ELEMENTS_AS_FLOAT);
#else
  for (int32_t i = 0; i < count; ++i) {
    const int32_t product = (a[i] + offset_a) * (b[i] + offset_b);
    y[i] = tvmgen_mve_limited_as_float(product, factor, zero_point, low, high);
  }
#endif
}

/* A tensor at another scale; the offset is minus the zero point. */
TVMGEN_MVE_FLOAT_FUNCTION void tvmgen_mve_requantize_as_float(const int8_t* x, int8_t* y,
                                                              int32_t count, int32_t offset,
                                                              int32_t factor, int32_t zero_point,
                                                              int32_t low, int32_t high) {
#if TVMGEN_MVE_FLOAT
  __asm__(TVMGEN_MVE_REQUANTIZE_AS_FLOAT);
#else
  for (int32_t i = 0; i < count; ++i) {
    y[i] = tvmgen_mve_limited_as_float(x[i] + offset, factor, zero_point, low, high);
  }
#endif
}
