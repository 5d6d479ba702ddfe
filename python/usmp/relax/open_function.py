"""A Relax function that is being built, and closed whatever happens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tvm import relax


@contextmanager
def open_function(builder: relax.BlockBuilder, name: str) -> Iterator[None]:
    """Build a function in here; what leaves it half-way leaves no open blocks: C++ reports them."""
    with builder.function(name):
        try:
            yield
        except BaseException:
            builder.emit_func_output(relax.Tuple([]), [])
            raise
