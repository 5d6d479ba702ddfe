/* Sums of products of pixels by channels of weights.
 *
 * tvmgen_dot_PxC: acc[p * C + c] += sum of (x[p * x_distance + k] + offset) * w[c * w_distance + k]
 * over k < n. No sum overflows, -128 <= offset <= 128, and nothing else is read. Where a compiler
 * has vectors it makes them from a simple loop; elsewhere four columns are a step. */
#include <stdint.h>

#include "tensor_intrin_dot_mve.c"
#include "tensor_intrin_dot_steps.c"
#include "tensor_intrin_dot_vectors.c"
#include "tensor_intrin_features.h"

TVMGEN_INLINE void tvmgen_dot_run_1x1(const int8_t** x, const int8_t** w, int32_t n, int32_t offset,
                                      int32_t* acc) {
#if defined(TVMGEN_MVE_LOOPS)
  tvmgen_dot_mve_1x1(*x, *w, n, offset, acc);
  *x += n;
  *w += n;
#elif defined(TVMGEN_VECTORS)
  const int8_t *const p = *x, *const q = *w;
  int32_t sums[1] = {0};
  for (int32_t k = 0; k < n; ++k) {
    const int16_t x0 = (int16_t)(p[k] + offset);
    sums[0] += x0 * q[k];
  }
  acc[0] += sums[0];
  *x += n;
  *w += n;
#else
  for (; TVMGEN_UNROLLED && n >= 16; n -= 16) {
    tvmgen_dot_step_1x1(x, w, offset, acc);
    tvmgen_dot_step_1x1(x, w, offset, acc);
    tvmgen_dot_step_1x1(x, w, offset, acc);
    tvmgen_dot_step_1x1(x, w, offset, acc);
  }
  for (; n >= 4; n -= 4) tvmgen_dot_step_1x1(x, w, offset, acc);
  for (; n > 0; --n, ++*x, ++*w) tvmgen_dot_column_1x1(*x, *w, offset, acc);
#endif
}

TVMGEN_INLINE void tvmgen_dot_1x1(const int8_t* x, int32_t x_distance, const int8_t* w,
                                  int32_t w_distance, int32_t n, int32_t offset, int32_t* acc) {
  (void)x_distance;
  (void)w_distance;
#if defined(TVMGEN_X86)
  tvmgen_window_vectors_1(x, 0, w, 1, n, offset, acc);
#else
  int32_t sums[1] = {acc[0]};
  tvmgen_dot_run_1x1(&x, &w, n, offset, sums);
  acc[0] = sums[0];
#endif
}

TVMGEN_INLINE void tvmgen_dot_run_1x2(const int8_t** x, const int8_t** w, int32_t w_distance,
                                      int32_t n, int32_t offset, int32_t* acc) {
#if defined(TVMGEN_MVE_LOOPS)
  tvmgen_dot_mve_1x2(*x, *w, *w + w_distance, n, offset, acc);
  *x += n;
  *w += n;
#elif defined(TVMGEN_VECTORS)
  const int8_t *const p = *x, *const q = *w;
  int32_t sums[2] = {0};
  for (int32_t k = 0; k < n; ++k) {
    const int16_t x0 = (int16_t)(p[k] + offset);
    sums[0] += x0 * q[k];
    sums[1] += x0 * q[w_distance + k];
  }
  acc[0] += sums[0];
  acc[1] += sums[1];
  *x += n;
  *w += n;
#else
  for (; TVMGEN_UNROLLED && n >= 16; n -= 16) {
    tvmgen_dot_step_1x2(x, w, w_distance, offset, acc);
    tvmgen_dot_step_1x2(x, w, w_distance, offset, acc);
    tvmgen_dot_step_1x2(x, w, w_distance, offset, acc);
    tvmgen_dot_step_1x2(x, w, w_distance, offset, acc);
  }
  for (; n >= 4; n -= 4) tvmgen_dot_step_1x2(x, w, w_distance, offset, acc);
  for (; n > 0; --n, ++*x, ++*w) tvmgen_dot_column_1x2(*x, *w, w_distance, offset, acc);
#endif
}

TVMGEN_INLINE void tvmgen_dot_1x2(const int8_t* x, int32_t x_distance, const int8_t* w,
                                  int32_t w_distance, int32_t n, int32_t offset, int32_t* acc) {
  (void)x_distance;
#if defined(TVMGEN_X86)
  tvmgen_window_vectors_2(x, x, 0, w, w + w_distance, 1, n, offset, acc);
#else
  int32_t sums[2] = {acc[0], acc[1]};
  tvmgen_dot_run_1x2(&x, &w, w_distance, n, offset, sums);
  acc[0] = sums[0];
  acc[1] = sums[1];
#endif
}

TVMGEN_INLINE void tvmgen_dot_run_1x4(const int8_t** x, const int8_t** w, int32_t w_distance,
                                      int32_t n, int32_t offset, int32_t* acc) {
#if defined(TVMGEN_MVE_LOOPS)
  tvmgen_dot_mve_1x2(*x, *w, *w + w_distance, n, offset, acc);
  tvmgen_dot_mve_1x2(*x, *w + 2 * w_distance, *w + 3 * w_distance, n, offset, acc + 2);
  *x += n;
  *w += n;
#elif defined(TVMGEN_VECTORS)
  const int8_t *const p = *x, *const q = *w;
  int32_t sums[4] = {0};
  for (int32_t k = 0; k < n; ++k) {
    const int16_t x0 = (int16_t)(p[k] + offset);
    sums[0] += x0 * q[k];
    sums[1] += x0 * q[w_distance + k];
    sums[2] += x0 * q[2 * w_distance + k];
    sums[3] += x0 * q[3 * w_distance + k];
  }
  acc[0] += sums[0];
  acc[1] += sums[1];
  acc[2] += sums[2];
  acc[3] += sums[3];
  *x += n;
  *w += n;
#else
  for (; TVMGEN_UNROLLED && n >= 16; n -= 16) {
    tvmgen_dot_step_1x4(x, w, w_distance, offset, acc);
    tvmgen_dot_step_1x4(x, w, w_distance, offset, acc);
    tvmgen_dot_step_1x4(x, w, w_distance, offset, acc);
    tvmgen_dot_step_1x4(x, w, w_distance, offset, acc);
  }
  for (; n >= 4; n -= 4) tvmgen_dot_step_1x4(x, w, w_distance, offset, acc);
  for (; n > 0; --n, ++*x, ++*w) tvmgen_dot_column_1x4(*x, *w, w_distance, offset, acc);
#endif
}

TVMGEN_INLINE void tvmgen_dot_1x4(const int8_t* x, int32_t x_distance, const int8_t* w,
                                  int32_t w_distance, int32_t n, int32_t offset, int32_t* acc) {
  (void)x_distance;
#if defined(TVMGEN_X86)
  tvmgen_window_vectors_4(x, x, x, x, 0, w, w + w_distance, w + 2 * w_distance, w + 3 * w_distance,
                          1, n, offset, acc);
#else
  int32_t sums[4] = {acc[0], acc[1], acc[2], acc[3]};
  tvmgen_dot_run_1x4(&x, &w, w_distance, n, offset, sums);
  acc[0] = sums[0];
  acc[1] = sums[1];
  acc[2] = sums[2];
  acc[3] = sums[3];
#endif
}

TVMGEN_INLINE void tvmgen_dot_run_1x6(const int8_t** x, const int8_t** w, int32_t w_distance,
                                      int32_t n, int32_t offset, int32_t* acc) {
#if defined(TVMGEN_MVE_LOOPS)
  tvmgen_dot_mve_1x2(*x, *w, *w + w_distance, n, offset, acc);
  tvmgen_dot_mve_1x2(*x, *w + 2 * w_distance, *w + 3 * w_distance, n, offset, acc + 2);
  tvmgen_dot_mve_1x2(*x, *w + 4 * w_distance, *w + 5 * w_distance, n, offset, acc + 4);
  *x += n;
  *w += n;
#elif defined(TVMGEN_VECTORS)
  const int8_t *const p = *x, *const q = *w;
  int32_t sums[6] = {0};
  for (int32_t k = 0; k < n; ++k) {
    const int16_t x0 = (int16_t)(p[k] + offset);
    sums[0] += x0 * q[k];
    sums[1] += x0 * q[w_distance + k];
    sums[2] += x0 * q[2 * w_distance + k];
    sums[3] += x0 * q[3 * w_distance + k];
    sums[4] += x0 * q[4 * w_distance + k];
    sums[5] += x0 * q[5 * w_distance + k];
  }
  acc[0] += sums[0];
  acc[1] += sums[1];
  acc[2] += sums[2];
  acc[3] += sums[3];
  acc[4] += sums[4];
  acc[5] += sums[5];
  *x += n;
  *w += n;
#else
  for (; TVMGEN_UNROLLED && n >= 16; n -= 16) {
    tvmgen_dot_step_1x6(x, w, w_distance, offset, acc);
    tvmgen_dot_step_1x6(x, w, w_distance, offset, acc);
    tvmgen_dot_step_1x6(x, w, w_distance, offset, acc);
    tvmgen_dot_step_1x6(x, w, w_distance, offset, acc);
  }
  for (; n >= 4; n -= 4) tvmgen_dot_step_1x6(x, w, w_distance, offset, acc);
  for (; n > 0; --n, ++*x, ++*w) tvmgen_dot_column_1x6(*x, *w, w_distance, offset, acc);
#endif
}

TVMGEN_INLINE void tvmgen_dot_1x6(const int8_t* x, int32_t x_distance, const int8_t* w,
                                  int32_t w_distance, int32_t n, int32_t offset, int32_t* acc) {
  (void)x_distance;
#if defined(TVMGEN_X86)
  tvmgen_window_vectors_4(x, x, x, x, 0, w, w + w_distance, w + 2 * w_distance, w + 3 * w_distance,
                          1, n, offset, acc);
  tvmgen_window_vectors_2(x, x, 0, w + 4 * w_distance, w + 5 * w_distance, 1, n, offset, acc + 4);
#else
  int32_t sums[6] = {acc[0], acc[1], acc[2], acc[3], acc[4], acc[5]};
  tvmgen_dot_run_1x6(&x, &w, w_distance, n, offset, sums);
  acc[0] = sums[0];
  acc[1] = sums[1];
  acc[2] = sums[2];
  acc[3] = sums[3];
  acc[4] = sums[4];
  acc[5] = sums[5];
#endif
}

TVMGEN_INLINE void tvmgen_dot_run_2x1(const int8_t** x, int32_t x_distance, const int8_t** w,
                                      int32_t n, int32_t offset, int32_t* acc) {
#if defined(TVMGEN_MVE_LOOPS)
  tvmgen_dot_mve_2x1(*x, *x + x_distance, *w, n, offset, acc);
  *x += n;
  *w += n;
#elif defined(TVMGEN_VECTORS)
  const int8_t *const p = *x, *const q = *w;
  int32_t sums[2] = {0};
  for (int32_t k = 0; k < n; ++k) {
    const int16_t x0 = (int16_t)(p[k] + offset);
    const int16_t x1 = (int16_t)(p[x_distance + k] + offset);
    sums[0] += x0 * q[k];
    sums[1] += x1 * q[k];
  }
  acc[0] += sums[0];
  acc[1] += sums[1];
  *x += n;
  *w += n;
#else
  for (; TVMGEN_UNROLLED && n >= 16; n -= 16) {
    tvmgen_dot_step_2x1(x, x_distance, w, offset, acc);
    tvmgen_dot_step_2x1(x, x_distance, w, offset, acc);
    tvmgen_dot_step_2x1(x, x_distance, w, offset, acc);
    tvmgen_dot_step_2x1(x, x_distance, w, offset, acc);
  }
  for (; n >= 4; n -= 4) tvmgen_dot_step_2x1(x, x_distance, w, offset, acc);
  for (; n > 0; --n, ++*x, ++*w) tvmgen_dot_column_2x1(*x, x_distance, *w, offset, acc);
#endif
}

TVMGEN_INLINE void tvmgen_dot_2x1(const int8_t* x, int32_t x_distance, const int8_t* w,
                                  int32_t w_distance, int32_t n, int32_t offset, int32_t* acc) {
  (void)w_distance;
#if defined(TVMGEN_X86)
  tvmgen_window_vectors_2(x, x + x_distance, 0, w, w, 1, n, offset, acc);
#else
  int32_t sums[2] = {acc[0], acc[1]};
  tvmgen_dot_run_2x1(&x, x_distance, &w, n, offset, sums);
  acc[0] = sums[0];
  acc[1] = sums[1];
#endif
}

TVMGEN_INLINE void tvmgen_dot_run_2x2(const int8_t** x, int32_t x_distance, const int8_t** w,
                                      int32_t w_distance, int32_t n, int32_t offset, int32_t* acc) {
#if defined(TVMGEN_MVE_LOOPS)
  tvmgen_dot_mve_2x2(*x, *x + x_distance, *w, *w + w_distance, n, offset, acc);
  *x += n;
  *w += n;
#elif defined(TVMGEN_VECTORS)
  const int8_t *const p = *x, *const q = *w;
  int32_t sums[4] = {0};
  for (int32_t k = 0; k < n; ++k) {
    const int16_t x0 = (int16_t)(p[k] + offset);
    const int16_t x1 = (int16_t)(p[x_distance + k] + offset);
    sums[0] += x0 * q[k];
    sums[1] += x0 * q[w_distance + k];
    sums[2] += x1 * q[k];
    sums[3] += x1 * q[w_distance + k];
  }
  acc[0] += sums[0];
  acc[1] += sums[1];
  acc[2] += sums[2];
  acc[3] += sums[3];
  *x += n;
  *w += n;
#else
  for (; TVMGEN_UNROLLED && n >= 16; n -= 16) {
    tvmgen_dot_step_2x2(x, x_distance, w, w_distance, offset, acc);
    tvmgen_dot_step_2x2(x, x_distance, w, w_distance, offset, acc);
    tvmgen_dot_step_2x2(x, x_distance, w, w_distance, offset, acc);
    tvmgen_dot_step_2x2(x, x_distance, w, w_distance, offset, acc);
  }
  for (; n >= 4; n -= 4) tvmgen_dot_step_2x2(x, x_distance, w, w_distance, offset, acc);
  for (; n > 0; --n, ++*x, ++*w) tvmgen_dot_column_2x2(*x, x_distance, *w, w_distance, offset, acc);
#endif
}

TVMGEN_INLINE void tvmgen_dot_2x2(const int8_t* x, int32_t x_distance, const int8_t* w,
                                  int32_t w_distance, int32_t n, int32_t offset, int32_t* acc) {
#if defined(TVMGEN_X86)
  tvmgen_window_vectors_4(x, x, x + x_distance, x + x_distance, 0, w, w + w_distance, w,
                          w + w_distance, 1, n, offset, acc);
#else
  int32_t sums[4] = {acc[0], acc[1], acc[2], acc[3]};
  tvmgen_dot_run_2x2(&x, x_distance, &w, w_distance, n, offset, sums);
  acc[0] = sums[0];
  acc[1] = sums[1];
  acc[2] = sums[2];
  acc[3] = sums[3];
#endif
}

TVMGEN_INLINE void tvmgen_dot_run_4x1(const int8_t** x, int32_t x_distance, const int8_t** w,
                                      int32_t n, int32_t offset, int32_t* acc) {
#if defined(TVMGEN_MVE_LOOPS)
  tvmgen_dot_mve_2x1(*x, *x + x_distance, *w, n, offset, acc);
  tvmgen_dot_mve_2x1(*x + 2 * x_distance, *x + 3 * x_distance, *w, n, offset, acc + 2);
  *x += n;
  *w += n;
#elif defined(TVMGEN_VECTORS)
  const int8_t *const p = *x, *const q = *w;
  int32_t sums[4] = {0};
  for (int32_t k = 0; k < n; ++k) {
    const int16_t x0 = (int16_t)(p[k] + offset);
    const int16_t x1 = (int16_t)(p[x_distance + k] + offset);
    const int16_t x2 = (int16_t)(p[2 * x_distance + k] + offset);
    const int16_t x3 = (int16_t)(p[3 * x_distance + k] + offset);
    sums[0] += x0 * q[k];
    sums[1] += x1 * q[k];
    sums[2] += x2 * q[k];
    sums[3] += x3 * q[k];
  }
  acc[0] += sums[0];
  acc[1] += sums[1];
  acc[2] += sums[2];
  acc[3] += sums[3];
  *x += n;
  *w += n;
#else
  for (; TVMGEN_UNROLLED && n >= 16; n -= 16) {
    tvmgen_dot_step_4x1(x, x_distance, w, offset, acc);
    tvmgen_dot_step_4x1(x, x_distance, w, offset, acc);
    tvmgen_dot_step_4x1(x, x_distance, w, offset, acc);
    tvmgen_dot_step_4x1(x, x_distance, w, offset, acc);
  }
  for (; n >= 4; n -= 4) tvmgen_dot_step_4x1(x, x_distance, w, offset, acc);
  for (; n > 0; --n, ++*x, ++*w) tvmgen_dot_column_4x1(*x, x_distance, *w, offset, acc);
#endif
}

TVMGEN_INLINE void tvmgen_dot_4x1(const int8_t* x, int32_t x_distance, const int8_t* w,
                                  int32_t w_distance, int32_t n, int32_t offset, int32_t* acc) {
  (void)w_distance;
#if defined(TVMGEN_X86)
  tvmgen_window_vectors_4(x, x + x_distance, x + 2 * x_distance, x + 3 * x_distance, 0, w, w, w, w,
                          1, n, offset, acc);
#else
  int32_t sums[4] = {acc[0], acc[1], acc[2], acc[3]};
  tvmgen_dot_run_4x1(&x, x_distance, &w, n, offset, sums);
  acc[0] = sums[0];
  acc[1] = sums[1];
  acc[2] = sums[2];
  acc[3] = sums[3];
#endif
}
