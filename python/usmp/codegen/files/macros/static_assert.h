#ifndef TVMGEN_STATIC_ASSERT
#if defined(__cplusplus)
#define TVMGEN_STATIC_ASSERT(condition, name) static_assert(condition, #name)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define TVMGEN_STATIC_ASSERT(condition, name) _Static_assert(condition, #name)
#else
#define TVMGEN_STATIC_ASSERT(condition, name) typedef char name[(condition) ? 1 : -1]
#endif
#endif
