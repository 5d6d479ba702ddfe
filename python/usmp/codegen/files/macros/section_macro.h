#if defined(__GNUC__) || defined(__clang__)
#define TVMGEN_SECTION(name) __attribute__((__section__(name)))
#elif !defined(TVMGEN_SECTION)
#error "Define TVMGEN_SECTION(name), which puts an object in a section"
#endif
