"""The types of expressions."""

from __future__ import annotations

from typing import Any

from usmp.tir.identity import identity

_MOST = 1000
_NAMES: dict[int, tuple[Any, str]] = {}


def dtype_of(expr: Any) -> str:
    """Return the name of the type of an expression in TIR, as `str(expr.ty.dtype)` does.

    To look it up takes a quarter of the time, since TVM makes a new object whenever a type is asked
    for its name.
    """
    ty = expr.ty
    known = _NAMES.get(identity(ty))
    if known is None:
        # There is one object of each type, but files that are loaded have their own.
        if len(_NAMES) == _MOST:
            _NAMES.clear()
        # The type is kept, so that no other one gets its identity.
        known = _NAMES[identity(ty)] = ty, str(ty.dtype)
    return known[1]


def is_float(dtype: str) -> bool:
    """Return whether numbers of a type have fractions."""
    return dtype.startswith(("float", "bfloat"))
