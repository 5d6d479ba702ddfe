"""Loading tvm-ffi at once."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_torch() -> Iterator[None]:
    """tvm-ffi loads PyTorch where it is installed, which takes seconds; let it believe there is
    none. Only for a process that ends with the command, and has no use for both together.
    """
    if {"torch", "tvm_ffi"} & set(sys.modules):
        yield
        return
    sys.modules["torch"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules["torch"]
