#if defined(__GNUC__) || defined(__clang__)
#define TVMGEN_NOINLINE __attribute__((noinline))
#else
#define TVMGEN_NOINLINE
#endif
