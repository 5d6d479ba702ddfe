"""Names of the release before this one, which still work, with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from importlib import import_module


def renamed(module: str, names: Mapping[str, str]) -> Callable[[str], object]:
    """The `__getattr__` of a module in which names have changed (PEP 562).

    Parameters
    ----------
    module
        its `__name__`.
    names
        old name -> new name of that module, or where it is now: "usmp.frontend.import_model".
    """

    def attribute(name: str) -> object:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        new = names[name] if "." in names[name] else f"{module}.{names[name]}"
        # The frame that asks is the caller of this function.
        warn_renamed(f"{module}.{name}", new, stacklevel=3)
        owner, _, public = new.rpartition(".")
        found: object = getattr(import_module(owner), public)
        return found

    return attribute


def warn_renamed(old: str, new: str, stacklevel: int = 2) -> None:
    """Warn that a name is deprecated.

    Parameters
    ----------
    old, new
        as users write them.
    stacklevel
        of `warnings.warn`: 2 is the caller of this function.
    """
    text = f"{old} is now {new}; the old name goes with the next release"
    warnings.warn(text, DeprecationWarning, stacklevel=stacklevel)
