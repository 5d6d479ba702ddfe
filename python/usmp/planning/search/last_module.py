"""A cache of a function's result for the last module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from tvm.ir import IRModule

_Made = TypeVar("_Made")


class LastModule(Generic[_Made]):
    """A function of a module, with a cache of the result for the module of the last call.

    Parameters
    ----------
    make
        the function.
    """

    def __init__(self, make: Callable[[IRModule], _Made]) -> None:
        self._make = make
        self._last: tuple[IRModule, _Made] | None = None

    def __call__(self, mod: IRModule) -> _Made:
        """Return the result of the function for a module."""
        if self._last is None or not self._last[0].same_as(mod):
            self._last = mod, self._make(mod)
        return self._last[1]
