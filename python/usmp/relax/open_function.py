"""A context that closes a Relax function under construction even after an error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tvm import relax


@contextmanager
def open_function(builder: relax.BlockBuilder, name: str) -> Iterator[None]:
    """Build a function in this context. Close its blocks after an error, because TVM reports blocks
    that stay open."""
    with builder.function(name):
        try:
            yield
        except BaseException:
            builder.emit_func_output(relax.Tuple([]), [])
            raise
