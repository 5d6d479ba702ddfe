#include <stdint.h>

/* The vectors of x86, through builtin functions: these files include none of its headers. */
#if defined(__SSE2__) && (defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 10)) && \
    !defined(TVMGEN_PORTABLE) && !defined(TVMGEN_X86)
#define TVMGEN_X86
typedef int8_t tvmgen_bytes8 __attribute__((__vector_size__(8)));
typedef int16_t tvmgen_shorts8 __attribute__((__vector_size__(16)));
typedef int32_t tvmgen_sums4 __attribute__((__vector_size__(16)));
#if defined(__AVX2__)
#define TVMGEN_AVX2
typedef char tvmgen_bytes16 __attribute__((__vector_size__(16)));
typedef char tvmgen_bytes32 __attribute__((__vector_size__(32)));
typedef int16_t tvmgen_shorts16 __attribute__((__vector_size__(32)));
typedef uint32_t tvmgen_bits4 __attribute__((__vector_size__(16)));
typedef long long tvmgen_longs2 __attribute__((__vector_size__(16)));
typedef unsigned long long tvmgen_bits2 __attribute__((__vector_size__(16)));
typedef int32_t tvmgen_sums8 __attribute__((__vector_size__(32)));
#if defined(__AVX512VNNI__) && defined(__AVX512VL__) && defined(__AVX512BW__)
#define TVMGEN_VNNI
#endif
#endif
#if defined(__clang__)
typedef signed char tvmgen_signed16 __attribute__((__vector_size__(16)));
#define TVMGEN_SHUFFLE(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#define TVMGEN_WIDEN(bytes) __builtin_convertvector((tvmgen_signed16)(bytes), tvmgen_shorts16)
#define TVMGEN_WIDEN4(bytes)                                                                   \
  __builtin_convertvector(                                                                     \
      __builtin_shufflevector((tvmgen_signed16)(bytes), (tvmgen_signed16)(bytes), 0, 1, 2, 3), \
      tvmgen_sums4)
#define TVMGEN_DPBUSD __builtin_ia32_vpdpbusd256
#define TVMGEN_SHUFFLE8(a, b, i, j, k, l, m, n, o, p) \
  __builtin_shufflevector(a, b, i, j, k, l, m, n, o, p)
#else
#define TVMGEN_SHUFFLE(a, b, i, j, k, l) __builtin_shuffle(a, b, (tvmgen_sums4){i, j, k, l})
#define TVMGEN_WIDEN __builtin_ia32_pmovsxbw256
#define TVMGEN_WIDEN4 __builtin_ia32_pmovsxbd128
#define TVMGEN_DPBUSD __builtin_ia32_vpdpbusd_v8si
#define TVMGEN_SHUFFLE8(a, b, i, j, k, l, m, n, o, p) \
  __builtin_shuffle(a, b, (tvmgen_sums8){i, j, k, l, m, n, o, p})
#endif
#define TVMGEN_EVEN_PAIRS(a, b) TVMGEN_SHUFFLE8(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define TVMGEN_ODD_PAIRS(a, b) TVMGEN_SHUFFLE8(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define TVMGEN_LOW_HALVES(a, b) TVMGEN_SHUFFLE8(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define TVMGEN_HIGH_HALVES(a, b) TVMGEN_SHUFFLE8(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#endif
