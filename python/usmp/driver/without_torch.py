"""Load tvm-ffi without PyTorch, which takes seconds."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_torch() -> Iterator[None]:
    """Hide an installed PyTorch, which tvm-ffi would load for seconds.

    Use it only in a process that ends with the command, and needs no PyTorch beside tvm-ffi.
    """
    if {"torch", "tvm_ffi"} & set(sys.modules):
        yield
        return
    sys.modules["torch"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules["torch"]
