/* A copy of a function for constant addresses of a pool is what GCC 12 takes for one that writes
 * nothing, if its loops step over the pool by integers that stand for addresses. */
#if defined(__clang__)
#define TVMGEN_NOINLINE __attribute__((__noinline__))
#elif defined(__GNUC__)
#define TVMGEN_NOINLINE __attribute__((__noinline__, __noclone__))
#else
#define TVMGEN_NOINLINE
#endif
