/* One column of products: acc[p * C + c] += (x[p * x_distance] + offset) * w[c * w_distance].
 *
 * Columns stay in order: GCC would load many of them first, and keep them on the stack. */
#include <stdint.h>

#include "tensor_intrin_features.h"

TVMGEN_INLINE void tvmgen_in_order_1(int32_t* acc) {
#if defined(__GNUC__) && !defined(TVMGEN_VECTORS)
  __asm__ volatile("" : "+r"(acc[0]) : : "memory");
#else
  (void)acc;
#endif
}

TVMGEN_INLINE void tvmgen_in_order_2(int32_t* acc) {
#if defined(__GNUC__) && !defined(TVMGEN_VECTORS)
  __asm__ volatile("" : "+r"(acc[0]), "+r"(acc[1]) : : "memory");
#else
  (void)acc;
#endif
}

TVMGEN_INLINE void tvmgen_in_order_4(int32_t* acc) {
#if defined(__GNUC__) && !defined(TVMGEN_VECTORS)
  __asm__ volatile("" : "+r"(acc[0]), "+r"(acc[1]), "+r"(acc[2]), "+r"(acc[3]) : : "memory");
#else
  (void)acc;
#endif
}

TVMGEN_INLINE void tvmgen_in_order_6(int32_t* acc) {
#if defined(__GNUC__) && !defined(TVMGEN_VECTORS)
  __asm__ volatile(""
                   : "+r"(acc[0]), "+r"(acc[1]), "+r"(acc[2]), "+r"(acc[3]), "+r"(acc[4]),
                     "+r"(acc[5])
                   :
                   : "memory");
#else
  (void)acc;
#endif
}

TVMGEN_INLINE void tvmgen_dot_column_1x1(const int8_t* x, const int8_t* w, int32_t offset,
                                         int32_t* acc) {
  const int32_t x0 = x[0] + offset;
  const int32_t w0 = w[0];
  acc[0] += x0 * w0;
  tvmgen_in_order_1(acc);
}

TVMGEN_INLINE void tvmgen_dot_column_1x2(const int8_t* x, const int8_t* w, int32_t w_distance,
                                         int32_t offset, int32_t* acc) {
  const int32_t x0 = x[0] + offset;
  const int32_t w0 = w[0], w1 = w[w_distance];
  acc[0] += x0 * w0;
  acc[1] += x0 * w1;
  tvmgen_in_order_2(acc);
}

TVMGEN_INLINE void tvmgen_dot_column_2x1(const int8_t* x, int32_t x_distance, const int8_t* w,
                                         int32_t offset, int32_t* acc) {
  const int32_t x0 = x[0] + offset, x1 = x[x_distance] + offset;
  const int32_t w0 = w[0];
  acc[0] += x0 * w0;
  acc[1] += x1 * w0;
  tvmgen_in_order_2(acc);
}

TVMGEN_INLINE void tvmgen_dot_column_2x2(const int8_t* x, int32_t x_distance, const int8_t* w,
                                         int32_t w_distance, int32_t offset, int32_t* acc) {
  const int32_t x0 = x[0] + offset, x1 = x[x_distance] + offset;
  const int32_t w0 = w[0], w1 = w[w_distance];
  acc[0] += x0 * w0;
  acc[1] += x0 * w1;
  acc[2] += x1 * w0;
  acc[3] += x1 * w1;
  tvmgen_in_order_4(acc);
}

TVMGEN_INLINE void tvmgen_dot_column_1x4(const int8_t* x, const int8_t* w, int32_t w_distance,
                                         int32_t offset, int32_t* acc) {
  const int32_t x0 = x[0] + offset;
  const int32_t w0 = w[0], w1 = w[w_distance], w2 = w[2 * w_distance], w3 = w[3 * w_distance];
  acc[0] += x0 * w0;
  acc[1] += x0 * w1;
  acc[2] += x0 * w2;
  acc[3] += x0 * w3;
  tvmgen_in_order_4(acc);
}

TVMGEN_INLINE void tvmgen_dot_column_4x1(const int8_t* x, int32_t x_distance, const int8_t* w,
                                         int32_t offset, int32_t* acc) {
  const int32_t x0 = x[0] + offset, x1 = x[x_distance] + offset, x2 = x[2 * x_distance] + offset,
                x3 = x[3 * x_distance] + offset;
  const int32_t w0 = w[0];
  acc[0] += x0 * w0;
  acc[1] += x1 * w0;
  acc[2] += x2 * w0;
  acc[3] += x3 * w0;
  tvmgen_in_order_4(acc);
}

TVMGEN_INLINE void tvmgen_dot_column_1x6(const int8_t* x, const int8_t* w, int32_t w_distance,
                                         int32_t offset, int32_t* acc) {
  const int32_t x0 = x[0] + offset;
  const int32_t w0 = w[0], w1 = w[w_distance], w2 = w[2 * w_distance], w3 = w[3 * w_distance],
                w4 = w[4 * w_distance], w5 = w[5 * w_distance];
  acc[0] += x0 * w0;
  acc[1] += x0 * w1;
  acc[2] += x0 * w2;
  acc[3] += x0 * w3;
  acc[4] += x0 * w4;
  acc[5] += x0 * w5;
  tvmgen_in_order_6(acc);
}
