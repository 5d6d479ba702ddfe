"""The global functions of built-in algorithms, as registered with TVM."""

from __future__ import annotations

from typing import Any

BUILTIN_FUNCTIONS: dict[str, Any] = {}
"""By name of the algorithm."""


def is_builtin(name: str, function: Any) -> bool:
    """Whether a global function is the one that was registered for the built-in algorithm."""
    return name in BUILTIN_FUNCTIONS and bool(function.same_as(BUILTIN_FUNCTIONS[name]))
