"""The types of expressions."""

from __future__ import annotations

from functools import cache
from typing import Any

import tvm

from usmp.tir.identity import identity

_MOST = 1000
_NAMES: dict[int, tuple[Any, str]] = {}


def dtype_of(expr: Any) -> str:
    """Return the name of the type of an expression in TIR: `str(expr.ty.dtype)`, from a cache.

    The cache takes a quarter of the time, because TVM creates an object at each access to a type.
    """
    ty = expr.ty
    known = _NAMES.get(identity(ty))
    if known is None:
        # Bound the cache, because each loaded file has type objects of its own.
        if len(_NAMES) == _MOST:
            _NAMES.clear()
        # Keep the type alive, so that no other object gets its identity.
        known = _NAMES[identity(ty)] = ty, str(ty.dtype)
    return known[1]


@cache
def item_bytes(dtype: str) -> int:
    """Return the bytes of one value of a type, which may be a vector."""
    return int(tvm.DataType(dtype).itemsize)


def is_float(dtype: str) -> bool:
    """Return whether a type is a floating-point type."""
    return dtype.startswith(("float", "bfloat"))
