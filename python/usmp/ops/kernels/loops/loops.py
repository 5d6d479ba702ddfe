"""Loops of kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from tvm import tirx

from usmp.tir.nodes import sequence
from usmp.tir.unrolled_loops import unrolled


def loop(
    name: str,
    extent: tirx.Expr | int,
    body: Callable[[tirx.Expr], tirx.Stmt],
    dtype: str = "int32",
) -> tirx.Stmt:
    """`body` of 0 up to `extent` - 1; without a loop if that is known to be once."""
    if isinstance(extent, int) and extent == 1:
        return body(tirx.IntImm(dtype, 0))
    index = tirx.Var(name, dtype)
    return tirx.For(index, 0, extent, tirx.ForKind.SERIAL, body(index))


def nested(body: Callable[..., tirx.Stmt], **extents: tirx.Expr | int) -> tirx.Stmt:
    """`body` of the indices of loops, which have names and extents, the outermost first."""
    if not extents:
        return body()
    (name, extent), *inner = extents.items()
    return loop(name, extent, lambda index: nested(partial(body, index), **dict(inner)))


def unrolled_loop(
    name: str, extent: int, body: Callable[[tirx.Expr], tirx.Stmt], dtype: str = "int32"
) -> tirx.Stmt:
    """The same, which C writes as `extent` statements.

    Analyses see one statement, and take as long as there are statements.
    """
    stmt = loop(name, extent, body, dtype)
    return unrolled(stmt) if isinstance(stmt, tirx.For) and extent > 1 else stmt


def loop_by_tiles(
    name: str,
    extent: int,
    sizes: Sequence[int],
    body: Callable[[tirx.Expr, int], list[tirx.Stmt]],
    dtype: str = "int32",
) -> tirx.Stmt:
    """`body` of the first element and number of elements of each tile.

    Parameters
    ----------
    sizes
        of tiles, the greatest first, and 1 at the end: as many as fit of each.
    """
    parts = []
    begin = 0
    for size, count in tile_counts(extent, sizes):
        parts.append(loop(name, count, partial(_tile, body, begin, size), dtype))
        begin += count * size
    return sequence(parts)


def tile_counts(extent: int, sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Size and number of the tiles of `loop_by_tiles`, of each size that there are some of."""
    for size in sizes:
        count, extent = divmod(extent, size)
        if count:
            yield size, count


def tile_text(channels: int, sizes: Sequence[int]) -> str:
    """What most tiles of some channels are called in reports."""
    largest, _ = next(tile_counts(channels, sizes))
    return counted(largest, "channel")


def counted(number: int, what: str) -> str:
    """As "1 pixel", "2 pixels"."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def _tile(
    body: Callable[[tirx.Expr, int], list[tirx.Stmt]], begin: int, size: int, number: tirx.Expr
) -> tirx.Stmt:
    return sequence(body(number * size + begin, size))
