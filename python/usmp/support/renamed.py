"""Deprecated names of the previous release, which still work with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from importlib import import_module


def renamed(module: str, names: Mapping[str, str]) -> Callable[[str], object]:
    """Return the `__getattr__` of a module in which names have changed (PEP 562).

    Parameters
    ----------
    module
        `__name__` of the module.
    names
        new name of each old name, in the module or qualified, as in "usmp.frontend.import_model".
    """

    def attribute(name: str) -> object:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        new = names[name] if "." in names[name] else f"{module}.{names[name]}"
        # Three levels up is the code that reads the attribute.
        warn_renamed(f"{module}.{name}", new, stacklevel=3)
        owner, _, public = new.rpartition(".")
        value: object = getattr(import_module(owner), public)
        return value

    return attribute


def warn_renamed(old: str, new: str, stacklevel: int = 2) -> None:
    """Warn that a name is deprecated.

    Parameters
    ----------
    old, new
        old and new name, as users write them.
    stacklevel
        stack level for `warnings.warn`: 2 is the caller of this function.
    """
    text = f"{old} is now {new}; the old name goes with the next release"
    warnings.warn(text, DeprecationWarning, stacklevel=stacklevel)
