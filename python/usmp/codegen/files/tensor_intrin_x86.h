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
typedef int32_t tvmgen_sums8 __attribute__((__vector_size__(32)));
#if defined(__AVX512VNNI__) && defined(__AVX512VL__) && defined(__AVX512BW__)
#define TVMGEN_VNNI
#endif
#endif
#if defined(__clang__)
typedef signed char tvmgen_signed16 __attribute__((__vector_size__(16)));
#define TVMGEN_SHUFFLE(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#define TVMGEN_WIDEN(bytes) __builtin_convertvector((tvmgen_signed16)(bytes), tvmgen_shorts16)
#define TVMGEN_DPBUSD __builtin_ia32_vpdpbusd256
#else
#define TVMGEN_SHUFFLE(a, b, i, j, k, l) __builtin_shuffle(a, b, (tvmgen_sums4){i, j, k, l})
#define TVMGEN_WIDEN __builtin_ia32_pmovsxbw256
#define TVMGEN_DPBUSD __builtin_ia32_vpdpbusd_v8si
#endif
#endif
