"""Helpers that know nothing of compilers: texts, folders, signals, errors."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

WHEN_TVM_IS_LOADED: list[Callable[[], None]] = []
"""Called by `usmp._ffi` when it has loaded TVM and the C++ library."""
