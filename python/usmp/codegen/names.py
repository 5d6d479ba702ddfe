"""Names of a model as C identifiers."""

from __future__ import annotations

import re
from collections.abc import Iterable

from usmp.objects.unique_names import UniqueNames

_RESERVED = frozenset(
    """auto break case char const continue default do double else enum extern float for goto if
    inline int long register restrict return short signed sizeof static struct switch typedef
    union unsigned void volatile while _Bool _Complex _Imaginary asm bool true false class new
    delete this template typename namespace operator private protected public virtual friend
    _Alignas _Alignof _Atomic _BitInt _Decimal128 _Decimal32 _Decimal64 _Generic _Noreturn
    _Static_assert _Thread_local __func__ alignas alignof and and_eq bitand bitor catch char16_t
    char32_t char8_t co_await co_return co_yield compl concept const_cast consteval constexpr
    constinit decltype dynamic_cast explicit export mutable not not_eq nullptr or or_eq
    reinterpret_cast requires static_assert static_cast thread_local throw try typeid typeof
    typeof_unqual using wchar_t xor xor_eq
    int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t NULL INFINITY NAN memcpy
    memmove memset linux unix i386""".split()
)
_RESERVED_PATTERN = re.compile(
    r"U?INT(\d|_LEAST|_FAST|MAX|PTR)\w*|(SIZE|PTRDIFF|WCHAR|WINT|SIG_ATOMIC)_(MIN|MAX)"
    r"|(M|FP|MATH)_\w+|HUGE(_VAL[FL]?)?|TVMGEN_\w+"
    r"|(u?int\d+|float|double)_alias|tvmgen_(min|max)_[a-z]+\d*|tvmgen_\w+_from_bits_of_\w+"
)
"""Macros of the headers that the code includes, in any C standard, and its own definitions."""

_MATH_STEMS = """acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp
    exp2 expm1 fabs fdim floor fma fmax fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log
    log10 log1p log2 logb lrint lround modf nan nearbyint nextafter nexttoward pow remainder remquo
    rint round scalbln scalbn sin sinh sqrt tan tanh tgamma trunc""".split()
MATH_FUNCTIONS = frozenset(stem + suffix for stem in _MATH_STEMS for suffix in ("", "f"))
"""Functions that <math.h> declares."""


def replace_forbidden(name: str) -> str:
    """`name` as a part of a C identifier: every other byte of its UTF-8 becomes an underscore.

    So did TVM 0.18, on which the names of members and macros in applications depend.
    """
    return re.sub(rb"[^0-9A-Za-z]", b"_", name.encode("utf-8", "surrogatepass")).decode()


def symbol_prefix(module_name: str) -> str:
    """Of every external C symbol of a model."""
    return f"tvmgen_{replace_forbidden(module_name)}"


def sanitise(name: str) -> str:
    """`name` as a C identifier that is not a reserved word."""
    identifier = replace_forbidden(name)
    if not identifier or identifier[0].isdigit():
        identifier = f"_{identifier}"
    reserved = identifier in _RESERVED or _RESERVED_PATTERN.fullmatch(identifier)
    return f"{identifier}_" if reserved else identifier


def sanitise_all(names: Iterable[str], what: str) -> list[str]:
    """Sanitise names that must stay different from each other.

    Raises
    ------
    ValueError: two names become the same C identifier.
    """
    origin: dict[str, str] = {}
    for name in names:
        identifier = sanitise(name)
        if identifier in origin:
            raise ValueError(
                f'{what} names "{origin[identifier]}" and "{name}" are both {identifier} in C; '
                "rename one of them in the model"
            )
        origin[identifier] = name
    return list(origin)


class Scope:
    """C identifiers in one function: each variable gets its own.

    Parameters
    ----------
    taken: identifiers that must not be hidden, beside those of the mathematical functions.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._names = UniqueNames([*taken, *MATH_FUNCTIONS, "isnan"])

    def unique(self, name: str) -> str:
        """An identifier like `name` that nothing else in the function has."""
        return self._names.unique(sanitise(name))
