"""The solver's C++ library, loaded when it is first needed. It needs tvm-ffi, but not TVM."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from usmp_solver.columns import Column

_DISTRIBUTIONS = ("tvm-usmp", "tvm-usmp-solver")


@cache
def function(name: str) -> Callable[..., Any]:
    """The function that the library has registered as ``usmp_solver.<name>``."""
    from tvm_ffi import get_global_func

    _load()
    found: Callable[..., Any] = get_global_func(f"usmp_solver.{name}")
    return found


def tensors(columns: Mapping[str, Column]) -> dict[str, Any]:
    """The columns as the library reads them."""
    from tvm_ffi import from_dlpack

    return {name: from_dlpack(np.ascontiguousarray(values)) for name, values in columns.items()}


def check_distributions() -> None:
    """Refuse files of two versions, one written over the other.

    Raises
    ------
    ImportError
        Both distributions that have this package in them are installed, and differ.
    """
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for name in _DISTRIBUTIONS:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    if len(set(found.values())) > 1:
        both = " and ".join(f"{name} {number}" for name, number in found.items())
        raise ImportError(
            f"{both} are installed, and each has its own usmp_solver; uninstall both, and then "
            f"install one: pip uninstall {' '.join(found)}"
        )


@cache
def _load() -> Any:
    check_distributions()
    from tvm_ffi import register_error
    from tvm_ffi.libinfo import load_lib_module

    # Ctrl-C is seen where C++ calls Python, and would come out of C++ as a RuntimeError.
    register_error("KeyboardInterrupt", KeyboardInterrupt)
    folders = [Path(folder) for folder in sys.modules["usmp_solver"].__path__]
    return load_lib_module("tvm-usmp", "usmp_solver", extra_lib_paths=folders)
