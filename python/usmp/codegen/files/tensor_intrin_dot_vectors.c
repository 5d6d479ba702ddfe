/* Sums of products by the vectors of x86.
 *
 * tvmgen_window_vectors_N: acc[i] += sum of (x_i[r * x_row + k] + offset) * w_i[r * n + k] over
 * rows r and k < n, with nothing else read. What a tile has several times, the compiler loads once.
 */
#include <stdint.h>
#include <string.h>

#include "tensor_intrin_features.h"
#include "tensor_intrin_x86.h"

#if defined(TVMGEN_X86)
TVMGEN_INLINE tvmgen_shorts8 tvmgen_widened_8(const int8_t* values) {
  tvmgen_bytes8 bytes;
  memcpy(&bytes, values, sizeof(bytes));
  return __builtin_convertvector(bytes, tvmgen_shorts8);
}
#endif

#if defined(TVMGEN_AVX2)
TVMGEN_INLINE tvmgen_sums4 tvmgen_widened_4(const int8_t* values) {
  tvmgen_sums4 four = {0};
  memcpy(&four, values, 4);
  return TVMGEN_WIDEN4((tvmgen_bytes16)four);
}
#endif

#if defined(TVMGEN_X86)
TVMGEN_INLINE tvmgen_sums4 tvmgen_products_8(const int8_t* x, const int8_t* w, int32_t offset) {
  return __builtin_ia32_pmaddwd128(tvmgen_widened_8(x) + (int16_t)offset, tvmgen_widened_8(w));
}
#endif

#if defined(TVMGEN_X86)
TVMGEN_INLINE tvmgen_sums4 tvmgen_products_4(const int8_t* x, const int8_t* w, int32_t offset) {
  int8_t x8[8] = {0}, w8[8] = {0};
  memcpy(x8, x, 4);
  memcpy(w8, w, 4);
  return tvmgen_products_8(x8, w8, offset);
}
#endif

#if defined(TVMGEN_X86)
TVMGEN_INLINE tvmgen_sums4 tvmgen_totals(tvmgen_sums4 a, tvmgen_sums4 b, tvmgen_sums4 c,
                                         tvmgen_sums4 d) {
  const tvmgen_sums4 ab = TVMGEN_SHUFFLE(a, b, 0, 4, 1, 5) + TVMGEN_SHUFFLE(a, b, 2, 6, 3, 7);
  const tvmgen_sums4 cd = TVMGEN_SHUFFLE(c, d, 0, 4, 1, 5) + TVMGEN_SHUFFLE(c, d, 2, 6, 3, 7);
  return TVMGEN_SHUFFLE(ab, cd, 0, 1, 4, 5) + TVMGEN_SHUFFLE(ab, cd, 2, 3, 6, 7);
}
#endif

#if defined(TVMGEN_AVX2)
TVMGEN_INLINE tvmgen_shorts16 tvmgen_widened_16(const int8_t* values) {
  tvmgen_bytes16 bytes;
  memcpy(&bytes, values, sizeof(bytes));
  return TVMGEN_WIDEN(bytes);
}
#endif

#if defined(TVMGEN_AVX2)
TVMGEN_INLINE tvmgen_sums8 tvmgen_products_16(const int8_t* x, const int8_t* w, int32_t offset) {
  return __builtin_ia32_pmaddwd256(tvmgen_widened_16(x) + (int16_t)offset, tvmgen_widened_16(w));
}
#endif

/* The same of twice as many each. */
#if defined(TVMGEN_AVX2)
TVMGEN_INLINE tvmgen_sums4 tvmgen_totals_8(tvmgen_sums8 a, tvmgen_sums8 b, tvmgen_sums8 c,
                                           tvmgen_sums8 d) {
  const tvmgen_sums8 ab = TVMGEN_EVEN_PAIRS(a, b) + TVMGEN_ODD_PAIRS(a, b);
  const tvmgen_sums8 cd = TVMGEN_EVEN_PAIRS(c, d) + TVMGEN_ODD_PAIRS(c, d);
  const tvmgen_sums8 abcd = TVMGEN_LOW_HALVES(ab, cd) + TVMGEN_HIGH_HALVES(ab, cd);
  tvmgen_sums4 halves[2];
  memcpy(halves, &abcd, sizeof(halves));
  return halves[0] + halves[1];
}
#endif

/* Up to 32 bytes, and zeros after them. */
#if defined(TVMGEN_VNNI)
TVMGEN_INLINE tvmgen_sums8 tvmgen_loaded_32(const int8_t* values, int32_t n) {
  tvmgen_sums8 loaded = {0};
  if (n < 32) {
    const uint32_t mask = ((uint32_t)1 << n) - 1;
    return (tvmgen_sums8)__builtin_ia32_loaddquqi256_mask((const void*)values,
                                                          (tvmgen_bytes32)loaded, mask);
  }
  memcpy(&loaded, values, sizeof(loaded));
  return loaded;
}
#endif

/* sums + (w + 128) * x, and sums + 128 * x: the first factor has no sign. */
#if defined(TVMGEN_VNNI)
TVMGEN_INLINE tvmgen_sums8 tvmgen_added_32(tvmgen_sums8 sums, tvmgen_sums8 w, tvmgen_sums8 x) {
  return TVMGEN_DPBUSD(sums, w ^ (int32_t)0x80808080, x);
}
#endif

/* Sums are added as vectors, so that they stay in them. */
#if defined(TVMGEN_X86)
TVMGEN_INLINE void tvmgen_add_4(int32_t* acc, tvmgen_sums4 sums) {
  tvmgen_sums4 total;
  memcpy(&total, acc, sizeof(total));
  total += sums;
  memcpy(acc, &total, sizeof(total));
}
#endif

#if defined(TVMGEN_X86)
TVMGEN_INLINE void tvmgen_add_2(int32_t* acc, tvmgen_sums4 sums) {
  acc[0] += sums[0];
  acc[1] += sums[1];
}
#endif

#if defined(TVMGEN_X86)
TVMGEN_INLINE void tvmgen_add_1(int32_t* acc, tvmgen_sums4 sums) {
  acc[0] += sums[0];
}
#endif

#if defined(TVMGEN_X86)
TVMGEN_INLINE void tvmgen_window_vectors_1(const int8_t* x0, int32_t x_row, const int8_t* w0,
                                           int32_t rows, int32_t n, int32_t offset, int32_t* acc) {
#if defined(TVMGEN_VNNI)
  if (offset == 0) {
    const tvmgen_sums8 zero = {0};
    tvmgen_sums8 b0 = zero, s0 = zero;
    for (; rows > 0; --rows, x0 += x_row, w0 += n) {
      for (int32_t k = 0; k < n; k += 32) {
        b0 = tvmgen_added_32(b0, tvmgen_loaded_32(w0 + k, n - k), tvmgen_loaded_32(x0 + k, n - k));
        s0 = tvmgen_added_32(s0, zero, tvmgen_loaded_32(x0 + k, n - k));
      }
    }
    tvmgen_add_1(acc, tvmgen_totals_8(b0 - s0, b0 - s0, b0 - s0, b0 - s0));
    return;
  }
#endif
#if defined(TVMGEN_AVX2)
  tvmgen_sums8 b0 = {0};
#endif
  tvmgen_sums4 a0 = {0};
  for (; rows > 0; --rows, x0 += x_row, w0 += n) {
    int32_t k = 0;
#if defined(TVMGEN_AVX2)
    for (; k + 16 <= n; k += 16) {
      b0 += tvmgen_products_16(x0 + k, w0 + k, offset);
    }
#endif
    for (; k + 8 <= n; k += 8) {
      a0 += tvmgen_products_8(x0 + k, w0 + k, offset);
    }
    if (k + 4 <= n) {
      a0 += tvmgen_products_4(x0 + k, w0 + k, offset);
      k += 4;
    }
    /* Of constants, GCC would else warn of a loop that is not entered. */
    if ((n & 3) == 0) continue;
    for (; k < n; ++k) {
      acc[0] += (x0[k] + offset) * w0[k];
    }
  }
  tvmgen_sums4 sums = tvmgen_totals(a0, a0, a0, a0);
#if defined(TVMGEN_AVX2)
  sums += tvmgen_totals_8(b0, b0, b0, b0);
#endif
  tvmgen_add_1(acc, sums);
}
#endif

#if defined(TVMGEN_X86)
TVMGEN_INLINE void tvmgen_window_vectors_2(const int8_t* x0, const int8_t* x1, int32_t x_row,
                                           const int8_t* w0, const int8_t* w1, int32_t rows,
                                           int32_t n, int32_t offset, int32_t* acc) {
#if defined(TVMGEN_VNNI)
  if (offset == 0) {
    const tvmgen_sums8 zero = {0};
    tvmgen_sums8 b0 = zero, b1 = zero, s0 = zero, s1 = zero;
    for (; rows > 0; --rows, x0 += x_row, x1 += x_row, w0 += n, w1 += n) {
      for (int32_t k = 0; k < n; k += 32) {
        b0 = tvmgen_added_32(b0, tvmgen_loaded_32(w0 + k, n - k), tvmgen_loaded_32(x0 + k, n - k));
        b1 = tvmgen_added_32(b1, tvmgen_loaded_32(w1 + k, n - k), tvmgen_loaded_32(x1 + k, n - k));
        s0 = tvmgen_added_32(s0, zero, tvmgen_loaded_32(x0 + k, n - k));
        s1 = tvmgen_added_32(s1, zero, tvmgen_loaded_32(x1 + k, n - k));
      }
    }
    tvmgen_add_2(acc, tvmgen_totals_8(b0 - s0, b1 - s1, b1 - s1, b1 - s1));
    return;
  }
#endif
#if defined(TVMGEN_AVX2)
  tvmgen_sums8 b0 = {0}, b1 = {0};
#endif
  tvmgen_sums4 a0 = {0}, a1 = {0};
  for (; rows > 0; --rows, x0 += x_row, x1 += x_row, w0 += n, w1 += n) {
    int32_t k = 0;
#if defined(TVMGEN_AVX2)
    for (; k + 16 <= n; k += 16) {
      b0 += tvmgen_products_16(x0 + k, w0 + k, offset);
      b1 += tvmgen_products_16(x1 + k, w1 + k, offset);
    }
#endif
    for (; k + 8 <= n; k += 8) {
      a0 += tvmgen_products_8(x0 + k, w0 + k, offset);
      a1 += tvmgen_products_8(x1 + k, w1 + k, offset);
    }
    if (k + 4 <= n) {
      a0 += tvmgen_products_4(x0 + k, w0 + k, offset);
      a1 += tvmgen_products_4(x1 + k, w1 + k, offset);
      k += 4;
    }
    /* Of constants, GCC would else warn of a loop that is not entered. */
    if ((n & 3) == 0) continue;
    for (; k < n; ++k) {
      acc[0] += (x0[k] + offset) * w0[k];
      acc[1] += (x1[k] + offset) * w1[k];
    }
  }
  tvmgen_sums4 sums = tvmgen_totals(a0, a1, a1, a1);
#if defined(TVMGEN_AVX2)
  sums += tvmgen_totals_8(b0, b1, b1, b1);
#endif
  tvmgen_add_2(acc, sums);
}
#endif

#if defined(TVMGEN_X86)
TVMGEN_INLINE void tvmgen_window_vectors_4(const int8_t* x0, const int8_t* x1, const int8_t* x2,
                                           const int8_t* x3, int32_t x_row, const int8_t* w0,
                                           const int8_t* w1, const int8_t* w2, const int8_t* w3,
                                           int32_t rows, int32_t n, int32_t offset, int32_t* acc) {
#if defined(TVMGEN_VNNI)
  if (offset == 0) {
    const tvmgen_sums8 zero = {0};
    tvmgen_sums8 b0 = zero, b1 = zero, b2 = zero, b3 = zero, s0 = zero, s1 = zero, s2 = zero,
                 s3 = zero;
    for (; rows > 0; --rows, x0 += x_row, x1 += x_row, x2 += x_row, x3 += x_row, w0 += n, w1 += n,
                     w2 += n, w3 += n) {
      for (int32_t k = 0; k < n; k += 32) {
        b0 = tvmgen_added_32(b0, tvmgen_loaded_32(w0 + k, n - k), tvmgen_loaded_32(x0 + k, n - k));
        b1 = tvmgen_added_32(b1, tvmgen_loaded_32(w1 + k, n - k), tvmgen_loaded_32(x1 + k, n - k));
        b2 = tvmgen_added_32(b2, tvmgen_loaded_32(w2 + k, n - k), tvmgen_loaded_32(x2 + k, n - k));
        b3 = tvmgen_added_32(b3, tvmgen_loaded_32(w3 + k, n - k), tvmgen_loaded_32(x3 + k, n - k));
        s0 = tvmgen_added_32(s0, zero, tvmgen_loaded_32(x0 + k, n - k));
        s1 = tvmgen_added_32(s1, zero, tvmgen_loaded_32(x1 + k, n - k));
        s2 = tvmgen_added_32(s2, zero, tvmgen_loaded_32(x2 + k, n - k));
        s3 = tvmgen_added_32(s3, zero, tvmgen_loaded_32(x3 + k, n - k));
      }
    }
    tvmgen_add_4(acc, tvmgen_totals_8(b0 - s0, b1 - s1, b2 - s2, b3 - s3));
    return;
  }
#endif
#if defined(TVMGEN_AVX2)
  tvmgen_sums8 b0 = {0}, b1 = {0}, b2 = {0}, b3 = {0};
#endif
  tvmgen_sums4 a0 = {0}, a1 = {0}, a2 = {0}, a3 = {0};
  for (; rows > 0; --rows, x0 += x_row, x1 += x_row, x2 += x_row, x3 += x_row, w0 += n, w1 += n,
                   w2 += n, w3 += n) {
    int32_t k = 0;
#if defined(TVMGEN_AVX2)
    for (; k + 16 <= n; k += 16) {
      b0 += tvmgen_products_16(x0 + k, w0 + k, offset);
      b1 += tvmgen_products_16(x1 + k, w1 + k, offset);
      b2 += tvmgen_products_16(x2 + k, w2 + k, offset);
      b3 += tvmgen_products_16(x3 + k, w3 + k, offset);
    }
#endif
    for (; k + 8 <= n; k += 8) {
      a0 += tvmgen_products_8(x0 + k, w0 + k, offset);
      a1 += tvmgen_products_8(x1 + k, w1 + k, offset);
      a2 += tvmgen_products_8(x2 + k, w2 + k, offset);
      a3 += tvmgen_products_8(x3 + k, w3 + k, offset);
    }
    if (k + 4 <= n) {
      a0 += tvmgen_products_4(x0 + k, w0 + k, offset);
      a1 += tvmgen_products_4(x1 + k, w1 + k, offset);
      a2 += tvmgen_products_4(x2 + k, w2 + k, offset);
      a3 += tvmgen_products_4(x3 + k, w3 + k, offset);
      k += 4;
    }
    /* Of constants, GCC would else warn of a loop that is not entered. */
    if ((n & 3) == 0) continue;
    for (; k < n; ++k) {
      acc[0] += (x0[k] + offset) * w0[k];
      acc[1] += (x1[k] + offset) * w1[k];
      acc[2] += (x2[k] + offset) * w2[k];
      acc[3] += (x3[k] + offset) * w3[k];
    }
  }
  tvmgen_sums4 sums = tvmgen_totals(a0, a1, a2, a3);
#if defined(TVMGEN_AVX2)
  sums += tvmgen_totals_8(b0, b1, b2, b3);
#endif
  tvmgen_add_4(acc, sums);
}
#endif
