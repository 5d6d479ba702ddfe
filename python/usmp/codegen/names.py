"""Names of a model as C identifiers."""

from __future__ import annotations

import re
from collections.abc import Iterable

_RESERVED = frozenset(
    """auto break case char const continue default do double else enum extern float for goto if
    inline int long register restrict return short signed sizeof static struct switch typedef
    union unsigned void volatile while _Bool _Complex _Imaginary asm bool true false class new
    delete this template typename namespace operator private protected public virtual friend
    int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t NULL INFINITY NAN memcpy
    memmove memset""".split()
)


def replace_forbidden(name: str) -> str:
    """`name` as a part of a C identifier: every other character becomes an underscore."""
    return re.sub(r"[^0-9A-Za-z_]", "_", name)


def sanitise(name: str) -> str:
    """`name` as a C identifier that is not a reserved word."""
    identifier = replace_forbidden(name)
    if not identifier or identifier[0].isdigit():
        identifier = f"_{identifier}"
    return f"{identifier}_" if identifier in _RESERVED else identifier


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
    """C identifiers in one function: each variable gets its own."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def unique(self, name: str) -> str:
        """An identifier like `name` that nothing else in the function has."""
        base = candidate = sanitise(name)
        count = 0
        while candidate in self._taken:
            count += 1
            candidate = f"{base}_{count}"
        self._taken.add(candidate)
        return candidate
