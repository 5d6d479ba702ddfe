#include <stdint.h>

/* Which instructions the tensor intrinsics use. Define TVMGEN_PORTABLE for none: the portable C
 * computes the same. Immediate operands need an optimizer, since distances are arguments. */
#if defined(TVMGEN_INLINE)
/* Included before. */
#elif defined(__GNUC__)
#define TVMGEN_INLINE static inline __attribute__((__always_inline__, __unused__))
typedef int32_t tvmgen_int32 __attribute__((__may_alias__)); /* in memory of any type */
#else
#define TVMGEN_INLINE static inline
typedef int32_t tvmgen_int32;
#endif
#if defined(__GNUC__) && defined(__OPTIMIZE__) && defined(__thumb2__) && \
    defined(__ARM_FEATURE_UNALIGNED) && !defined(__ARM_BIG_ENDIAN) && !defined(TVMGEN_PORTABLE)
#define TVMGEN_THUMB2
#if defined(__ARM_FEATURE_DSP)
#define TVMGEN_DSP
#endif
#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)
#define TVMGEN_MVE_LOOPS
#endif
#endif
#if defined(TVMGEN_SMALL) || (defined(__GNUC__) && !defined(__OPTIMIZE__))
#define TVMGEN_UNROLLED 0 /* loops take one step at a time */
#else
#define TVMGEN_UNROLLED 1
#endif
#if defined(__SSE2__) || defined(__ARM_NEON) || defined(__riscv_vector) || \
    defined(__wasm_simd128__) || defined(__VSX__)
#define TVMGEN_VECTORS /* of compilers: simple loops become instructions on vectors */
#endif
