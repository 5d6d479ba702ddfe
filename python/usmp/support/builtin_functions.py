"""The global functions of built-in algorithms, as registered with TVM."""

from __future__ import annotations

from typing import Any

BUILTIN_FUNCTIONS: dict[str, Any] = {}
"""The global functions, by name of the algorithm."""


def is_builtin(name: str, function: Any) -> bool:
    """Return whether a global function is the built-in algorithm of this name."""
    return name in BUILTIN_FUNCTIONS and bool(function.same_as(BUILTIN_FUNCTIONS[name]))
