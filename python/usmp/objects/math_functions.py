"""The functions of <math.h>."""

from __future__ import annotations

_STEMS = """acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp
    exp2 expm1 fabs fdim floor fma fmax fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log
    log10 log1p log2 logb lrint lround modf nan nearbyint nextafter nexttoward pow remainder remquo
    rint round scalbln scalbn sin sinh sqrt tan tanh tgamma trunc""".split()
MATH_FUNCTIONS = frozenset(stem + suffix for stem in _STEMS for suffix in ("", "f"))
"""Functions that <math.h> declares, for double and float."""
