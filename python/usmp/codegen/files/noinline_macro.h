#if defined(__GNUC__) || defined(__clang__)
#define TVMGEN_NOINLINE __attribute__((__noinline__))
#else
#define TVMGEN_NOINLINE
#endif
