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
    """Return a loop of `body` over 0 to `extent` - 1; without a loop if `extent` is 1."""
    if isinstance(extent, int) and extent == 1:
        return body(tirx.IntImm(dtype, 0))
    index = tirx.Var(name, dtype)
    return tirx.For(index, 0, extent, tirx.ForKind.SERIAL, body(index))


def nested(body: Callable[..., tirx.Stmt], **extents: tirx.Expr | int) -> tirx.Stmt:
    """Return nested loops, the outermost first, around `body`, which takes their indices."""
    if not extents:
        return body()
    (name, extent), *inner = extents.items()
    return loop(name, extent, lambda index: nested(partial(body, index), **dict(inner)))


def unrolled_loop(
    name: str, extent: int, body: Callable[[tirx.Expr], tirx.Stmt], dtype: str = "int32"
) -> tirx.Stmt:
    """Return a loop that C writes as `extent` statements.

    It stays a loop in TIR, because the time of analyses grows with the number of statements.
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
    """Return loops over tiles; `body` takes the first element and the number of elements of a tile.

    Parameters
    ----------
    sizes
        sizes of tiles, in elements: the greatest first, 1 last. As many tiles of each size as fit.
    """
    parts = []
    begin = 0
    for size, count in tile_counts(extent, sizes):
        parts.append(loop(name, count, partial(_tile, body, begin, size), dtype))
        begin += count * size
    return sequence(parts)


def tile_counts(extent: int, sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield size and number of the tiles of `loop_by_tiles`, without sizes that have no tile."""
    for size in sizes:
        count, extent = divmod(extent, size)
        if count:
            yield size, count


def tile_text(channels: int, sizes: Sequence[int]) -> str:
    """Return the text of reports for the largest tile of some channels."""
    largest, _ = next(tile_counts(channels, sizes))
    return counted(largest, "channel")


def counted(number: int, what: str) -> str:
    """Return a number with its noun, as "1 pixel" or "2 pixels"."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def _tile(
    body: Callable[[tirx.Expr, int], list[tirx.Stmt]], begin: int, size: int, number: tirx.Expr
) -> tirx.Stmt:
    return sequence(body(number * size + begin, size))
