"""Convolutions by tiles of pixels and channels.

Loops over tiles of pixels are outermost, in raster order, and loops over channels within, so that
outputs may overwrite inputs after their last use. A tile whose windows lie in the data tests no
taps. At the border, tiles copy their windows with padding first, or are computed pixel by pixel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tvm import tirx

from usmp.ops.dot_products import Run, dot_products, window_products
from usmp.ops.kernels.images.convolution import Convolution
from usmp.ops.kernels.images.convolution_edges import edge, if_column, patched, patched_planes
from usmp.ops.kernels.loops.index_ranges import IndexRange, inner_range, within
from usmp.ops.kernels.loops.loops import loop, loop_by_tiles, nested
from usmp.ops.window import Window
from usmp.tir.own_function import own_function

PATCH_BYTES = 128
"""The most bytes on the stack to which the windows of a tile at the border are copied."""


@dataclass(frozen=True)
class RowTiles:
    """Tiles of pixels in a row.

    Parameters
    ----------
    origin
        the first column of the first tile, at most 0. It is chosen so that a tile begins at the
        first column whose window lies in the data.
    number
        number of tiles.
    inner
        range of the tiles whose windows all lie within the columns of the data.
    """

    origin: int
    number: int
    inner: IndexRange


def row_tiles(window: Window, pixels: int) -> RowTiles:
    """Return the tiles of a row, each of `pixels` pixels."""
    columns = inner_range(window, 1)
    origin = columns.first % pixels - pixels if columns.first % pixels else 0
    number = -(-(window.output[1] - origin) // pixels)
    inner = IndexRange((columns.first - origin) // pixels, (columns.end - origin) // pixels)
    return RowTiles(origin, number, inner)


def convolution(conv: Convolution, pixels: int, channels: Sequence[int]) -> tirx.Stmt:
    """Return the loops of a convolution.

    Parameters
    ----------
    pixels
        number of pixels of a tile.
    channels
        numbers of channels of tiles, the greatest first, 1 last (see `loop_by_tiles`).
    """
    window = conv.window
    rows, row = inner_range(window, 0), row_tiles(window, pixels)
    inner = row.inner
    covers = inner == IndexRange(0, row.number) and rows == IndexRange(0, window.output[0])

    def of_tile(b: tirx.Var, y: tirx.Var, tile: tirx.Var) -> tirx.Stmt:
        x = tile * pixels + row.origin
        guard = [*within(y, rows, window.output[0]), *within(tile, inner, row.number)]
        if conv.reads_planes:
            has_inner = inner.first < inner.end and rows.first < rows.end
            is_inside = tirx.all(*guard) if guard and has_inner else None
            return patched_planes(conv, (b, y, x), pixels, channels, is_inside)
        whole = own_function(
            "tile",
            loop_by_tiles(
                "c", conv.outputs, channels, lambda c, n: inner_tile(conv, b, y, x, c, pixels, n)
            ),
        )
        if covers:
            return whole
        if window.dilations[1] == 1 and pixels * conv.taps <= PATCH_BYTES:
            single = patched(conv, (b, y, x), pixels, channels)
        else:
            single = loop("p", pixels, lambda p: if_column(window, x + p, edge(conv, b, y, x + p)))
        if inner.first >= inner.end or rows.first >= rows.end:
            return single
        return tirx.IfThenElse(tirx.all(*guard), whole, single)

    return nested(of_tile, b=conv.batch, y=window.output[0], tile=row.number)


def inner_tile(
    conv: Convolution,
    b: tirx.Expr,
    y: tirx.Expr,
    x: tirx.Expr,
    c: tirx.Expr,
    pixels: int,
    channels: int,
) -> list[tirx.Stmt]:
    """Return the statements that compute a tile of pixels whose windows lie in the data."""
    window = conv.window
    height, width = window.kernel
    zero = tirx.IntImm("int32", 0)

    def runs(kx: tirx.Expr, ky: tirx.Expr) -> Run:
        place = window.tap(y, x, ky, kx)
        return Run(conv.data, (b, *place, zero), window.strides[1] * conv.channels)

    tile = (pixels, channels)
    offset = conv.accumulators.offset

    def joined(acc: tirx.Var) -> tirx.Stmt:
        weight = conv.weight_from(c, zero, zero)
        rows, shape = (1, window.dilations[0]), (height, width * conv.channels)
        return window_products(runs(zero, zero), rows, weight, shape, offset, acc, tile)

    def separate(acc: tirx.Var) -> tirx.Stmt:
        def tap(ky: tirx.Expr, kx: tirx.Expr) -> tirx.Stmt:
            weight = conv.weight_from(c, ky, kx)
            return dot_products(runs(kx, ky), weight, conv.channels, offset, acc, tile)

        return nested(tap, ky=height, kx=width)

    outputs = [(b, y, x + p) for p in range(pixels)]
    products = joined if window.dilations[1] == 1 else separate
    return conv.accumulators.tile(outputs, c, channels, products)
