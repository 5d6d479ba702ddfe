/* Sums of products by the vectors of x86.
 *
 * tvmgen_dot_vectors_N: acc[i] += sum of (x_i[k] + offset) * w_i[k] over k < n, with nothing else
 * read. What a tile has several times, the compiler loads once. */
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

#if defined(TVMGEN_AVX2)
TVMGEN_INLINE tvmgen_sums4 tvmgen_folded(tvmgen_sums8 sums) {
  tvmgen_sums4 halves[2];
  memcpy(halves, &sums, sizeof(halves));
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

TVMGEN_INLINE void tvmgen_dot_vectors_1(const int8_t* x0, const int8_t* w0, int32_t n,
                                        int32_t offset, int32_t* acc) {
  int32_t k = 0;
#if defined(TVMGEN_X86)
  tvmgen_sums4 a0 = {0};
#if defined(TVMGEN_VNNI)
  if (offset == 0) {
    tvmgen_sums8 b0 = {0}, s0 = {0};
    const tvmgen_sums8 zero = {0};
    for (; k < n; k += 32) {
      b0 = tvmgen_added_32(b0, tvmgen_loaded_32(w0 + k, n - k), tvmgen_loaded_32(x0 + k, n - k));
      s0 = tvmgen_added_32(s0, zero, tvmgen_loaded_32(x0 + k, n - k));
    }
    a0 = tvmgen_folded(b0 - s0);
  }
#endif
#if defined(TVMGEN_AVX2)
  if (k + 16 <= n) {
    tvmgen_sums8 b0 = {0};
    for (; k + 16 <= n; k += 16) {
      b0 += tvmgen_products_16(x0 + k, w0 + k, offset);
    }
    a0 = tvmgen_folded(b0);
  }
#endif
  for (; k + 8 <= n; k += 8) {
    a0 += tvmgen_products_8(x0 + k, w0 + k, offset);
  }
  if (k + 4 <= n) {
    a0 += tvmgen_products_4(x0 + k, w0 + k, offset);
    k += 4;
  }
  const tvmgen_sums4 sums = tvmgen_totals(a0, a0, a0, a0);
  acc[0] += sums[0];
  /* Of constants, GCC would else warn of a loop that is not entered. */
  if ((n & 3) == 0) return;
#endif
  for (; k < n; ++k) {
    acc[0] += (x0[k] + offset) * w0[k];
  }
}

TVMGEN_INLINE void tvmgen_dot_vectors_2(const int8_t* x0, const int8_t* x1, const int8_t* w0,
                                        const int8_t* w1, int32_t n, int32_t offset, int32_t* acc) {
  int32_t k = 0;
#if defined(TVMGEN_X86)
  tvmgen_sums4 a0 = {0}, a1 = {0};
#if defined(TVMGEN_VNNI)
  if (offset == 0) {
    tvmgen_sums8 b0 = {0}, b1 = {0}, s0 = {0}, s1 = {0};
    const tvmgen_sums8 zero = {0};
    for (; k < n; k += 32) {
      b0 = tvmgen_added_32(b0, tvmgen_loaded_32(w0 + k, n - k), tvmgen_loaded_32(x0 + k, n - k));
      b1 = tvmgen_added_32(b1, tvmgen_loaded_32(w1 + k, n - k), tvmgen_loaded_32(x1 + k, n - k));
      s0 = tvmgen_added_32(s0, zero, tvmgen_loaded_32(x0 + k, n - k));
      s1 = tvmgen_added_32(s1, zero, tvmgen_loaded_32(x1 + k, n - k));
    }
    a0 = tvmgen_folded(b0 - s0);
    a1 = tvmgen_folded(b1 - s1);
  }
#endif
#if defined(TVMGEN_AVX2)
  if (k + 16 <= n) {
    tvmgen_sums8 b0 = {0}, b1 = {0};
    for (; k + 16 <= n; k += 16) {
      b0 += tvmgen_products_16(x0 + k, w0 + k, offset);
      b1 += tvmgen_products_16(x1 + k, w1 + k, offset);
    }
    a0 = tvmgen_folded(b0);
    a1 = tvmgen_folded(b1);
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
  const tvmgen_sums4 sums = tvmgen_totals(a0, a1, a1, a1);
  acc[0] += sums[0];
  acc[1] += sums[1];
  /* Of constants, GCC would else warn of a loop that is not entered. */
  if ((n & 3) == 0) return;
#endif
  for (; k < n; ++k) {
    acc[0] += (x0[k] + offset) * w0[k];
    acc[1] += (x1[k] + offset) * w1[k];
  }
}

TVMGEN_INLINE void tvmgen_dot_vectors_4(const int8_t* x0, const int8_t* x1, const int8_t* x2,
                                        const int8_t* x3, const int8_t* w0, const int8_t* w1,
                                        const int8_t* w2, const int8_t* w3, int32_t n,
                                        int32_t offset, int32_t* acc) {
  int32_t k = 0;
#if defined(TVMGEN_X86)
  tvmgen_sums4 a0 = {0}, a1 = {0}, a2 = {0}, a3 = {0};
#if defined(TVMGEN_VNNI)
  if (offset == 0) {
    tvmgen_sums8 b0 = {0}, b1 = {0}, b2 = {0}, b3 = {0}, s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    const tvmgen_sums8 zero = {0};
    for (; k < n; k += 32) {
      b0 = tvmgen_added_32(b0, tvmgen_loaded_32(w0 + k, n - k), tvmgen_loaded_32(x0 + k, n - k));
      b1 = tvmgen_added_32(b1, tvmgen_loaded_32(w1 + k, n - k), tvmgen_loaded_32(x1 + k, n - k));
      b2 = tvmgen_added_32(b2, tvmgen_loaded_32(w2 + k, n - k), tvmgen_loaded_32(x2 + k, n - k));
      b3 = tvmgen_added_32(b3, tvmgen_loaded_32(w3 + k, n - k), tvmgen_loaded_32(x3 + k, n - k));
      s0 = tvmgen_added_32(s0, zero, tvmgen_loaded_32(x0 + k, n - k));
      s1 = tvmgen_added_32(s1, zero, tvmgen_loaded_32(x1 + k, n - k));
      s2 = tvmgen_added_32(s2, zero, tvmgen_loaded_32(x2 + k, n - k));
      s3 = tvmgen_added_32(s3, zero, tvmgen_loaded_32(x3 + k, n - k));
    }
    a0 = tvmgen_folded(b0 - s0);
    a1 = tvmgen_folded(b1 - s1);
    a2 = tvmgen_folded(b2 - s2);
    a3 = tvmgen_folded(b3 - s3);
  }
#endif
#if defined(TVMGEN_AVX2)
  if (k + 16 <= n) {
    tvmgen_sums8 b0 = {0}, b1 = {0}, b2 = {0}, b3 = {0};
    for (; k + 16 <= n; k += 16) {
      b0 += tvmgen_products_16(x0 + k, w0 + k, offset);
      b1 += tvmgen_products_16(x1 + k, w1 + k, offset);
      b2 += tvmgen_products_16(x2 + k, w2 + k, offset);
      b3 += tvmgen_products_16(x3 + k, w3 + k, offset);
    }
    a0 = tvmgen_folded(b0);
    a1 = tvmgen_folded(b1);
    a2 = tvmgen_folded(b2);
    a3 = tvmgen_folded(b3);
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
  const tvmgen_sums4 sums = tvmgen_totals(a0, a1, a2, a3);
  acc[0] += sums[0];
  acc[1] += sums[1];
  acc[2] += sums[2];
  acc[3] += sums[3];
  /* Of constants, GCC would else warn of a loop that is not entered. */
  if ((n & 3) == 0) return;
#endif
  for (; k < n; ++k) {
    acc[0] += (x0[k] + offset) * w0[k];
    acc[1] += (x1[k] + offset) * w1[k];
    acc[2] += (x2[k] + offset) * w2[k];
    acc[3] += (x3[k] + offset) * w3[k];
  }
}
