"""Global symbols: names of functions outside of their module. Private functions have none."""

from __future__ import annotations

from typing import TypeVar

from tvm.ir import BaseFunc

GLOBAL_SYMBOL_ATTR = "global_symbol"

_Func = TypeVar("_Func", bound=BaseFunc)


def global_symbol(func: BaseFunc) -> str | None:
    """Return the global symbol of a function; None if it is private."""
    symbol = func.attrs.get(GLOBAL_SYMBOL_ATTR) if func.attrs else None
    return None if symbol is None else str(symbol)


def with_new_symbol(func: _Func, symbol: str) -> _Func:
    """Return `func` with another global symbol; a private function is returned unchanged."""
    if global_symbol(func) is None:
        return func
    renamed: _Func = func.with_attr(GLOBAL_SYMBOL_ATTR, symbol)
    return renamed
