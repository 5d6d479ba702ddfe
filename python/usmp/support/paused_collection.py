"""A time in which Python does not look for garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_collection() -> Iterator[None]:
    """While it is entered, only what nothing refers to is freed.

    For a short time in which a great many objects are made that live on: each time their number
    has grown by a part, Python looks through all of them for cycles.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
