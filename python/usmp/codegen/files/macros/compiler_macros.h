#if defined(__GNUC__) || defined(__clang__)
#define TVMGEN_MAY_ALIAS __attribute__((__may_alias__))
#define TVMGEN_ALIGNED(bytes) __attribute__((__aligned__(bytes)))
#elif !defined(TVMGEN_MAY_ALIAS) || !defined(TVMGEN_ALIGNED)
#error "Define TVMGEN_MAY_ALIAS (type-based alias analysis off) and TVMGEN_ALIGNED(bytes)"
#endif
#if defined(__ARM_FEATURE_MVE) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
/* GCC 12 makes vectors of loops over known conditions, and takes one of them for all lanes. */
#pragma GCC optimize("no-tree-vectorize")
#endif
