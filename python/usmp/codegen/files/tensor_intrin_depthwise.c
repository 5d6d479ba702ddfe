/* One tap of a depthwise convolution, of several channels. */
#include <stdint.h>

static inline void tvmgen_depthwise_4(const int8_t* x, const int8_t* w, int32_t offset,
                                      int32_t* acc) {
  acc[0] += (x[0] + offset) * w[0];
  acc[1] += (x[1] + offset) * w[1];
  acc[2] += (x[2] + offset) * w[2];
  acc[3] += (x[3] + offset) * w[3];
}
