"""Fewer calls within calls than Python allows by default, so that deep data need not be large."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def recursion_limit(deeper: int) -> Iterator[None]:
    """Within it, calls go this much deeper at most."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + deeper)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
