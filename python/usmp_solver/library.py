"""The solver's C++ library, loaded at first use. It needs tvm-ffi, but not TVM."""

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
    """Return the library's function ``usmp_solver.<name>``."""
    from tvm_ffi import get_global_func

    _load()
    registered: Callable[..., Any] = get_global_func(f"usmp_solver.{name}")
    return registered


def tensors(columns: Mapping[str, Column]) -> dict[str, Any]:
    """Return the columns as tensors for the library."""
    from tvm_ffi import from_dlpack

    return {name: from_dlpack(np.ascontiguousarray(values)) for name, values in columns.items()}


def check_distributions() -> None:
    """Refuse two installed distributions that overwrite each other's files.

    Raises
    ------
    ImportError
        Both distributions that contain this package are installed, with different versions.
    """
    from importlib.metadata import PackageNotFoundError, version

    versions = {}
    for name in _DISTRIBUTIONS:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    if len(set(versions.values())) > 1:
        both = " and ".join(f"{name} {number}" for name, number in versions.items())
        raise ImportError(
            f"{both} are installed, and each has its own usmp_solver; uninstall both, and then "
            f"install one: pip uninstall {' '.join(versions)}"
        )


@cache
def _load() -> Any:
    check_distributions()
    from tvm_ffi import register_error
    from tvm_ffi.libinfo import load_lib_module

    # Ctrl-C is detected when C++ calls Python, and would leave C++ as a RuntimeError.
    register_error("KeyboardInterrupt", KeyboardInterrupt)
    folders = [Path(folder) for folder in sys.modules["usmp_solver"].__path__]
    return load_lib_module("tvm-usmp", "usmp_solver", extra_lib_paths=folders)
