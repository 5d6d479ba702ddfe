"""Loops of kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from tvm import tirx

from usmp.tir.nodes import sequence


def loop(name: str, extent: tirx.Expr | int, body: Callable[[tirx.Expr], tirx.Stmt]) -> tirx.Stmt:
    """`body` of 0 up to `extent` - 1; without a loop if that is known to be once."""
    if isinstance(extent, int) and extent == 1:
        return body(tirx.IntImm("int32", 0))
    index = tirx.Var(name, "int32")
    return tirx.For(index, 0, extent, tirx.ForKind.SERIAL, body(index))


def loop_by_tiles(
    name: str,
    extent: int,
    sizes: Sequence[int],
    body: Callable[[tirx.Expr, int], list[tirx.Stmt]],
) -> tirx.Stmt:
    """`body` of the first element and number of elements of each tile.

    Parameters
    ----------
    sizes
        of tiles, the greatest first, and 1 at the end: as many as fit of each.
    """
    parts = []
    begin = 0
    for size in sizes:
        count = (extent - begin) // size
        if count:
            parts.append(loop(name, count, partial(_tile, body, begin, size)))
        begin += count * size
    return sequence(parts)


def _tile(
    body: Callable[[tirx.Expr, int], list[tirx.Stmt]], begin: int, size: int, number: tirx.Expr
) -> tirx.Stmt:
    return sequence(body(number * size + begin, size))
