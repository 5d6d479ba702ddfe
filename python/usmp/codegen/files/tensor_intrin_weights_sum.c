/* What a constant input adds to sums of products.
 *
 * tvmgen_weights_sum_C: acc[c] += factor * sum of w[c * w_distance + k] over k < n; no sum
 * overflows. */
#include <stdint.h>
#include <string.h>

#include "tensor_intrin_dot_vectors.c"
#include "tensor_intrin_features.h"

TVMGEN_INLINE void tvmgen_weights_sum_1(const int8_t* w, int32_t w_distance, int32_t n,
                                        int32_t factor, int32_t* acc) {
  int32_t sum = 0;
  (void)w_distance;
  for (int32_t k = 0; k < n; ++k) sum += w[k];
  acc[0] += factor * sum;
}

TVMGEN_INLINE void tvmgen_weights_sum_2(const int8_t* w, int32_t w_distance, int32_t n,
                                        int32_t factor, int32_t* acc) {
  int32_t sums[2] = {0};
  for (int32_t k = 0; k < n; ++k) {
    sums[0] += w[k];
    sums[1] += w[w_distance + k];
  }
  acc[0] += factor * sums[0];
  acc[1] += factor * sums[1];
}

TVMGEN_INLINE void tvmgen_weights_sum_4(const int8_t* w, int32_t w_distance, int32_t n,
                                        int32_t factor, int32_t* acc) {
#if defined(TVMGEN_AVX2)
  /* A tap of a depthwise convolution. */
  if (n == 1 && w_distance == 1) {
    tvmgen_add_4(acc, factor * tvmgen_widened_4(w));
    return;
  }
#endif
#if defined(TVMGEN_VNNI)
  const tvmgen_sums8 zero = {0}, ones = zero + 0x01010101;
  tvmgen_sums8 b0 = zero, b1 = zero, b2 = zero, b3 = zero;
  for (int32_t k = 0; k < n; k += 32) {
    b0 = TVMGEN_DPBUSD(b0, ones, tvmgen_loaded_32(w + k, n - k));
    b1 = TVMGEN_DPBUSD(b1, ones, tvmgen_loaded_32(w + w_distance + k, n - k));
    b2 = TVMGEN_DPBUSD(b2, ones, tvmgen_loaded_32(w + 2 * w_distance + k, n - k));
    b3 = TVMGEN_DPBUSD(b3, ones, tvmgen_loaded_32(w + 3 * w_distance + k, n - k));
  }
  tvmgen_add_4(acc, factor * tvmgen_totals_8(b0, b1, b2, b3));
#else
  int32_t sums[4] = {0};
  for (int32_t k = 0; k < n; ++k) {
    sums[0] += w[k];
    sums[1] += w[w_distance + k];
    sums[2] += w[2 * w_distance + k];
    sums[3] += w[3 * w_distance + k];
  }
  acc[0] += factor * sums[0];
  acc[1] += factor * sums[1];
  acc[2] += factor * sums[2];
  acc[3] += factor * sums[3];
#endif
}
