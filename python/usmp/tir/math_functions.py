"""The functions of <math.h>."""

from __future__ import annotations

_STEMS = {
    1: """acos acosh asin asinh atan atanh cbrt ceil cos cosh erf erfc exp exp2 expm1 fabs floor
        ilogb lgamma llrint llround log log10 log1p log2 logb lrint lround nearbyint rint round sin
        sinh sqrt tan tanh tgamma trunc""",
    2: """atan2 copysign fdim fmax fmin fmod hypot ldexp nextafter nexttoward pow remainder scalbln
        scalbn""",
    3: "fma",
}
_WITH_POINTERS = "frexp modf nan remquo"
NUMBERS_OF_MATH_FUNCTIONS = {
    stem + suffix: count
    for count, stems in _STEMS.items()
    for stem in stems.split()
    for suffix in ("", "f")
}
"""The number of arguments of each function of <math.h> that takes numbers only."""
MATH_FUNCTIONS = frozenset(NUMBERS_OF_MATH_FUNCTIONS) | {
    stem + suffix for stem in _WITH_POINTERS.split() for suffix in ("", "f")
}
"""Functions that <math.h> declares, for double and float."""
