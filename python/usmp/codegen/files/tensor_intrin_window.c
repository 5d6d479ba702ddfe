/* Sums of products of windows by channels of weights.
 *
 * tvmgen_window_PxC: acc[p * C + c] += sum over rows r and columns k < n of
 * (x[p * x_distance + r * x_row + k] + offset) * w[c * w_distance + r * n + k]. No sum overflows,
 * -128 <= offset <= 128, and nothing else is read. */
#include <stdint.h>

#include "tensor_intrin_dot.c"
#include "tensor_intrin_features.h"

TVMGEN_INLINE void tvmgen_window_1x1(const int8_t* x, int32_t x_distance, int32_t x_row,
                                     const int8_t* w, int32_t w_distance, int32_t rows, int32_t n,
                                     int32_t offset, int32_t* acc) {
  (void)x_distance;
  (void)w_distance;
#if defined(TVMGEN_X86)
  tvmgen_window_vectors_1(x, x_row, w, rows, n, offset, acc);
#else
  int32_t sums[1] = {acc[0]};
  for (; rows > 0; --rows, x += x_row) {
    const int8_t* p = x;
    tvmgen_dot_run_1x1(&p, &w, n, offset, sums);
  }
  acc[0] = sums[0];
#endif
}

TVMGEN_INLINE void tvmgen_window_1x2(const int8_t* x, int32_t x_distance, int32_t x_row,
                                     const int8_t* w, int32_t w_distance, int32_t rows, int32_t n,
                                     int32_t offset, int32_t* acc) {
  (void)x_distance;
#if defined(TVMGEN_X86)
  tvmgen_window_vectors_2(x, x, x_row, w, w + w_distance, rows, n, offset, acc);
#else
  int32_t sums[2] = {acc[0], acc[1]};
  for (; rows > 0; --rows, x += x_row) {
    const int8_t* p = x;
    tvmgen_dot_run_1x2(&p, &w, w_distance, n, offset, sums);
  }
  acc[0] = sums[0];
  acc[1] = sums[1];
#endif
}

TVMGEN_INLINE void tvmgen_window_1x4(const int8_t* x, int32_t x_distance, int32_t x_row,
                                     const int8_t* w, int32_t w_distance, int32_t rows, int32_t n,
                                     int32_t offset, int32_t* acc) {
  (void)x_distance;
#if defined(TVMGEN_X86)
  tvmgen_window_vectors_4(x, x, x, x, x_row, w, w + w_distance, w + 2 * w_distance,
                          w + 3 * w_distance, rows, n, offset, acc);
#else
  int32_t sums[4] = {acc[0], acc[1], acc[2], acc[3]};
  for (; rows > 0; --rows, x += x_row) {
    const int8_t* p = x;
    tvmgen_dot_run_1x4(&p, &w, w_distance, n, offset, sums);
  }
  acc[0] = sums[0];
  acc[1] = sums[1];
  acc[2] = sums[2];
  acc[3] = sums[3];
#endif
}

TVMGEN_INLINE void tvmgen_window_1x6(const int8_t* x, int32_t x_distance, int32_t x_row,
                                     const int8_t* w, int32_t w_distance, int32_t rows, int32_t n,
                                     int32_t offset, int32_t* acc) {
  (void)x_distance;
#if defined(TVMGEN_X86)
  tvmgen_window_vectors_4(x, x, x, x, x_row, w, w + w_distance, w + 2 * w_distance,
                          w + 3 * w_distance, rows, n, offset, acc);
  tvmgen_window_vectors_2(x, x, x_row, w + 4 * w_distance, w + 5 * w_distance, rows, n, offset,
                          acc + 4);
#else
  int32_t sums[6] = {acc[0], acc[1], acc[2], acc[3], acc[4], acc[5]};
  for (; rows > 0; --rows, x += x_row) {
    const int8_t* p = x;
    tvmgen_dot_run_1x6(&p, &w, w_distance, n, offset, sums);
  }
  acc[0] = sums[0];
  acc[1] = sums[1];
  acc[2] = sums[2];
  acc[3] = sums[3];
  acc[4] = sums[4];
  acc[5] = sums[5];
#endif
}

TVMGEN_INLINE void tvmgen_window_2x1(const int8_t* x, int32_t x_distance, int32_t x_row,
                                     const int8_t* w, int32_t w_distance, int32_t rows, int32_t n,
                                     int32_t offset, int32_t* acc) {
  (void)w_distance;
#if defined(TVMGEN_X86)
  tvmgen_window_vectors_2(x, x + x_distance, x_row, w, w, rows, n, offset, acc);
#else
  int32_t sums[2] = {acc[0], acc[1]};
  for (; rows > 0; --rows, x += x_row) {
    const int8_t* p = x;
    tvmgen_dot_run_2x1(&p, x_distance, &w, n, offset, sums);
  }
  acc[0] = sums[0];
  acc[1] = sums[1];
#endif
}

TVMGEN_INLINE void tvmgen_window_2x2(const int8_t* x, int32_t x_distance, int32_t x_row,
                                     const int8_t* w, int32_t w_distance, int32_t rows, int32_t n,
                                     int32_t offset, int32_t* acc) {
#if defined(TVMGEN_X86)
  tvmgen_window_vectors_4(x, x, x + x_distance, x + x_distance, x_row, w, w + w_distance, w,
                          w + w_distance, rows, n, offset, acc);
#else
  int32_t sums[4] = {acc[0], acc[1], acc[2], acc[3]};
  for (; rows > 0; --rows, x += x_row) {
    const int8_t* p = x;
    tvmgen_dot_run_2x2(&p, x_distance, &w, w_distance, n, offset, sums);
  }
  acc[0] = sums[0];
  acc[1] = sums[1];
  acc[2] = sums[2];
  acc[3] = sums[3];
#endif
}

TVMGEN_INLINE void tvmgen_window_4x1(const int8_t* x, int32_t x_distance, int32_t x_row,
                                     const int8_t* w, int32_t w_distance, int32_t rows, int32_t n,
                                     int32_t offset, int32_t* acc) {
  (void)w_distance;
#if defined(TVMGEN_X86)
  tvmgen_window_vectors_4(x, x + x_distance, x + 2 * x_distance, x + 3 * x_distance, x_row, w, w, w,
                          w, rows, n, offset, acc);
#else
  int32_t sums[4] = {acc[0], acc[1], acc[2], acc[3]};
  for (; rows > 0; --rows, x += x_row) {
    const int8_t* p = x;
    tvmgen_dot_run_4x1(&p, x_distance, &w, n, offset, sums);
  }
  acc[0] = sums[0];
  acc[1] = sums[1];
  acc[2] = sums[2];
  acc[3] = sums[3];
#endif
}
