"""Helpers that are independent of compilers: texts, folders, signals, errors."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

WHEN_TVM_IS_LOADED: list[Callable[[], None]] = []
"""Functions that `usmp._ffi` calls after it has loaded TVM and the C++ library."""
