"""Includes of <math.h> and <string.h> in source files that use them."""

from __future__ import annotations

import re

from usmp.tir.math_functions import MATH_FUNCTIONS

_MATH = frozenset({"NAN", "INFINITY", *(f"{name}(" for name in MATH_FUNCTIONS | {"isnan"})})
_STRING = frozenset({"memcpy(", "memmove(", "memset("})
"""Constants and calls that need <math.h>, and calls that need <string.h>."""

_INCLUDE_STRING = """\
#if __STDC_HOSTED__
#include <string.h>
#else
/* A freestanding compiler needs these functions too, but has no header for them. */
#include <stddef.h>
void* memcpy(void* to, const void* from, size_t size);
void* memmove(void* to, const void* from, size_t size);
void* memset(void* to, int value, size_t size);
#endif
"""

_NOT_CODE = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\])*"', re.DOTALL)
"""Comments and strings, which are skipped because they may contain any text of a model."""
_NAMES_AND_CALLS = re.compile(r"[A-Za-z_]\w*\(?")


def library_includes(text: str) -> str:
    """Return the include lines that a C text needs for <math.h> and <string.h>; may be empty."""
    used = set(_NAMES_AND_CALLS.findall(_NOT_CODE.sub(" ", text)))
    math = "" if _MATH.isdisjoint(used) else "#include <math.h>\n"
    return math if _STRING.isdisjoint(used) else math + _INCLUDE_STRING
