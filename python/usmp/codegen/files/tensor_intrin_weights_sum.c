/* What a constant input adds to sums of products.
 *
 * tvmgen_weights_sum_C: acc[c] += factor * sum of w[c * w_distance + k] over k < n; no sum
 * overflows. */
#include <stdint.h>

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
}
