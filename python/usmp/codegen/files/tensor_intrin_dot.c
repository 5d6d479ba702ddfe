/* Sums of products of 8-bit integers: P pixels by C channels, P and C in the name. */
#include <stdint.h>

static inline void tvmgen_dot_1x1(const int8_t* x, int32_t x_distance, const int8_t* w,
                                  int32_t w_distance, int32_t n, int32_t offset, int32_t* acc) {
  for (int32_t k = 0; k < n; ++k) {
    acc[0] += (x[0 * x_distance + k] + offset) * w[0 * w_distance + k];
  }
  (void)x_distance;
  (void)w_distance;
}

static inline void tvmgen_dot_1x2(const int8_t* x, int32_t x_distance, const int8_t* w,
                                  int32_t w_distance, int32_t n, int32_t offset, int32_t* acc) {
  for (int32_t k = 0; k < n; ++k) {
    acc[0] += (x[0 * x_distance + k] + offset) * w[0 * w_distance + k];
    acc[1] += (x[0 * x_distance + k] + offset) * w[1 * w_distance + k];
  }
  (void)x_distance;
  (void)w_distance;
}

static inline void tvmgen_dot_1x4(const int8_t* x, int32_t x_distance, const int8_t* w,
                                  int32_t w_distance, int32_t n, int32_t offset, int32_t* acc) {
  for (int32_t k = 0; k < n; ++k) {
    acc[0] += (x[0 * x_distance + k] + offset) * w[0 * w_distance + k];
    acc[1] += (x[0 * x_distance + k] + offset) * w[1 * w_distance + k];
    acc[2] += (x[0 * x_distance + k] + offset) * w[2 * w_distance + k];
    acc[3] += (x[0 * x_distance + k] + offset) * w[3 * w_distance + k];
  }
  (void)x_distance;
  (void)w_distance;
}

static inline void tvmgen_dot_2x1(const int8_t* x, int32_t x_distance, const int8_t* w,
                                  int32_t w_distance, int32_t n, int32_t offset, int32_t* acc) {
  for (int32_t k = 0; k < n; ++k) {
    acc[0] += (x[0 * x_distance + k] + offset) * w[0 * w_distance + k];
    acc[1] += (x[1 * x_distance + k] + offset) * w[0 * w_distance + k];
  }
  (void)x_distance;
  (void)w_distance;
}

static inline void tvmgen_dot_2x2(const int8_t* x, int32_t x_distance, const int8_t* w,
                                  int32_t w_distance, int32_t n, int32_t offset, int32_t* acc) {
  for (int32_t k = 0; k < n; ++k) {
    acc[0] += (x[0 * x_distance + k] + offset) * w[0 * w_distance + k];
    acc[1] += (x[0 * x_distance + k] + offset) * w[1 * w_distance + k];
    acc[2] += (x[1 * x_distance + k] + offset) * w[0 * w_distance + k];
    acc[3] += (x[1 * x_distance + k] + offset) * w[1 * w_distance + k];
  }
  (void)x_distance;
  (void)w_distance;
}

static inline void tvmgen_dot_4x1(const int8_t* x, int32_t x_distance, const int8_t* w,
                                  int32_t w_distance, int32_t n, int32_t offset, int32_t* acc) {
  for (int32_t k = 0; k < n; ++k) {
    acc[0] += (x[0 * x_distance + k] + offset) * w[0 * w_distance + k];
    acc[1] += (x[1 * x_distance + k] + offset) * w[0 * w_distance + k];
    acc[2] += (x[2 * x_distance + k] + offset) * w[0 * w_distance + k];
    acc[3] += (x[3 * x_distance + k] + offset) * w[0 * w_distance + k];
  }
  (void)x_distance;
  (void)w_distance;
}

static inline void tvmgen_weights_sum_1(const int8_t* w, int32_t w_distance, int32_t n,
                                         int32_t factor, int32_t* acc) {
  for (int32_t k = 0; k < n; ++k) {
    acc[0] += factor * w[0 * w_distance + k];
  }
  (void)w_distance;
}

static inline void tvmgen_weights_sum_2(const int8_t* w, int32_t w_distance, int32_t n,
                                         int32_t factor, int32_t* acc) {
  for (int32_t k = 0; k < n; ++k) {
    acc[0] += factor * w[0 * w_distance + k];
    acc[1] += factor * w[1 * w_distance + k];
  }
  (void)w_distance;
}

static inline void tvmgen_weights_sum_4(const int8_t* w, int32_t w_distance, int32_t n,
                                         int32_t factor, int32_t* acc) {
  for (int32_t k = 0; k < n; ++k) {
    acc[0] += factor * w[0 * w_distance + k];
    acc[1] += factor * w[1 * w_distance + k];
    acc[2] += factor * w[2 * w_distance + k];
    acc[3] += factor * w[3 * w_distance + k];
  }
  (void)w_distance;
}
