"""Depthwise convolutions by pixels, four channels at a time.

Loops over pixels are outermost, in raster order, so that outputs may overwrite inputs after their
last use. Where the window lies in the data, up to 16 taps are unrolled, at constant distances. At
the border, only the taps that lie in the data are read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from tvm import tirx

from usmp.ops.kernels.loops.accumulators import Accumulators
from usmp.ops.kernels.loops.index_ranges import inner_range, within
from usmp.ops.kernels.loops.loops import loop, loop_by_tiles, nested
from usmp.ops.window import Window
from usmp.tir.nodes import sequence
from usmp.tir.own_function import own_function
from usmp.tir.tensor_intrin import tensor_intrin

CHANNELS = 4
"""The number of channels of a tile."""

_MOST_TAPS = 16
"""The most taps that are unrolled: larger windows are loops."""

Tap = Callable[[int | tirx.Expr, int | tirx.Expr], tirx.Stmt]


def packed(weight: np.ndarray) -> np.ndarray:
    """Return the weight in the layout that the loops read.

    Parameters
    ----------
    weight
        (channels, taps).

    Returns
    -------
    np.ndarray
        (channels * taps): for every four channels (taps, 4), then for each remaining channel
        (taps).
    """
    channels, taps = weight.shape
    whole = channels - channels % CHANNELS
    tiles = weight[:whole].reshape(-1, CHANNELS, taps).transpose(0, 2, 1)
    return np.concatenate([tiles.ravel(), weight[whole:].ravel()])


@dataclass(frozen=True)
class Depthwise:
    """A convolution of each channel of NHWC data by itself, with constant weights.

    Parameters
    ----------
    data
        (batch, height, width, channels) of int8.
    weight
        (channels * taps) of int8, packed.
    window
        the kernel window over the data.
    accumulators
        initial values and epilogue.
    """

    data: tirx.Var
    weight: tirx.Var
    window: Window
    accumulators: Accumulators

    def loops(self) -> tirx.Stmt:
        """Return the loops over all pixels."""
        rows, columns = inner_range(self.window, 0), inner_range(self.window, 1)
        height, width = self.window.output

        def pixel(b: tirx.Expr, y: tirx.Expr, x: tirx.Expr) -> tirx.Stmt:
            guards = [*within(y, rows, height), *within(x, columns, width)]
            edge = self._edge(b, y, x)
            if rows.first >= rows.end or columns.first >= columns.end:
                return edge
            inside = own_function("inside", self._channels(b, y, x, self._inside))
            if not guards:
                return inside
            return tirx.IfThenElse(tirx.all(*guards), inside, edge)

        return nested(pixel, b=int(self.data.shape[0]), y=height, x=width)

    def _edge(self, b: tirx.Expr, y: tirx.Expr, x: tirx.Expr) -> tirx.Stmt:
        """Return statements for all channels of a pixel whose window may reach the padding."""
        if not self.accumulators.skips_padding or self.window.dilations != (1, 1):
            return own_function("edge", self._channels(b, y, x, self._at_edge))
        binds: list[tirx.Stmt] = []
        ranges = []
        for side, position in enumerate((self._row(y, 0), self._column(x, 0))):
            extent, taps = self.window.data[side], self.window.kernel[side]
            begin, count = tirx.Var("begin", "int32"), tirx.Var("count", "int32")
            least = tirx.min(tirx.max(-position, 0), taps)
            binds.append(tirx.Bind(begin, least))
            end = tirx.min(extent - position, taps)
            binds.append(tirx.Bind(count, tirx.max(end - begin, 0)))
            ranges.append((position + begin, begin, count))
        (row, ky, rows), (column, kx, columns) = ranges

        def taps_inside(y: tirx.Expr, x: tirx.Expr, tile: _Tile) -> tirx.Stmt:
            return tile.products((row, column), (ky, kx), (rows, columns))

        return sequence([*binds, own_function("edge", self._channels(b, y, x, taps_inside))])

    def _channels(
        self,
        b: tirx.Expr,
        y: tirx.Expr,
        x: tirx.Expr,
        taps: Callable[[tirx.Expr, tirx.Expr, _Tile], tirx.Stmt],
    ) -> tirx.Stmt:
        """Return the loops over all channels of a pixel. `taps` returns the statement that adds the
        products of a tile of channels."""

        def tile(c: tirx.Expr, number: int) -> list[tirx.Stmt]:
            def products(acc: tirx.Var) -> tirx.Stmt:
                return taps(y, x, _Tile(self, b, c, number, acc))

            return self.accumulators.tile([(b, y, x)], c, number, products)

        return loop_by_tiles("c", int(self.data.shape[3]), (CHANNELS, 1), tile)

    def _inside(self, y: tirx.Expr, x: tirx.Expr, tile: _Tile) -> tirx.Stmt:
        """Add the products of all taps, which lie in the data."""

        def tap(ky: int | tirx.Expr, kx: int | tirx.Expr) -> tirx.Stmt:
            return tile.product(self._row(y, ky), self._column(x, kx), ky, kx)

        return self._taps(tap)

    def _at_edge(self, y: tirx.Expr, x: tirx.Expr, tile: _Tile) -> tirx.Stmt:
        """Add the products of the taps in the data, and the zero point for taps in the padding."""
        height, width = self.window.data
        kernel_height, kernel_width = self.window.kernel

        def row(ky: tirx.Expr) -> tirx.Stmt:
            position = self._row(y, ky)

            def tap(kx: int | tirx.Expr) -> tirx.Stmt:
                column = self._column(x, kx)
                inside = tile.product(position, column, ky, kx)
                condition = tirx.all(column >= 0, column < width)
                return tirx.IfThenElse(condition, inside, tile.zero_point(ky, kx))

            def outside(kx: int | tirx.Expr) -> tirx.Stmt | None:
                return tile.zero_point(ky, kx)

            condition = tirx.all(position >= 0, position < height)
            zeros = None if self.accumulators.skips_padding else _each(kernel_width, outside)
            return tirx.IfThenElse(condition, _each(kernel_width, tap), zeros)

        return loop("ky", kernel_height, row)

    def _taps(self, tap: Tap) -> tirx.Stmt:
        height, width = self.window.kernel
        if height * width <= _MOST_TAPS:
            return sequence([tap(ky, kx) for ky in range(height) for kx in range(width)])
        return loop("ky", height, lambda ky: _each(width, lambda kx: tap(ky, kx)))

    def _row(self, y: tirx.Expr, ky: int | tirx.Expr) -> tirx.Expr:
        window = self.window
        return y * window.strides[0] + (ky * window.dilations[0] - window.padding[0])

    def _column(self, x: tirx.Expr, kx: int | tirx.Expr) -> tirx.Expr:
        window = self.window
        return x * window.strides[1] + (kx * window.dilations[1] - window.padding[1])


@dataclass(frozen=True)
class _Tile:
    """Some channels of a pixel, from `c` on.

    Parameters
    ----------
    acc
        (number) of int32.
    """

    depthwise: Depthwise
    b: tirx.Expr
    c: tirx.Expr
    number: int
    acc: tirx.Var

    def product(
        self, row: tirx.Expr, column: tirx.Expr, ky: int | tirx.Expr, kx: int | tirx.Expr
    ) -> tirx.Stmt:
        """Add the products of a tap."""
        added = self._products((row, column), (ky, kx))
        if self.number != CHANNELS:
            return added
        first = [self.depthwise.data[self.b, row, column, self.c], self._element(ky, kx, 0)]
        return tensor_intrin(
            "tvmgen_depthwise_4", [*first, self.depthwise.accumulators.offset, self.acc[0]], added
        )

    def products(
        self,
        first: tuple[tirx.Expr, tirx.Expr],
        tap: tuple[tirx.Expr, tirx.Expr],
        extents: tuple[tirx.Expr, tirx.Expr],
    ) -> tirx.Stmt:
        """Add the products of a rectangle of taps.

        Parameters
        ----------
        first, tap
            row and column of the first tap, in the data and in the kernel.
        extents
            numbers of rows and columns.
        """
        (row, column), (ky, kx), (rows, columns) = first, tap, extents
        data, width = self.depthwise.data, self.depthwise.window.kernel[1]
        i, j = tirx.Var("i", "int32"), tirx.Var("j", "int32")
        added = self._products((row + i, column + j), (ky + i, kx + j))
        inner = tirx.For(j, 0, columns, tirx.ForKind.SERIAL, added)
        body = tirx.For(i, 0, rows, tirx.ForKind.SERIAL, inner)
        if self.number != CHANNELS:
            return body
        channels = int(data.shape[3])
        arguments = [
            *(data[self.b, row, column, self.c], int(data.shape[2]) * channels, channels),
            *(self._element(ky, kx, 0), width * CHANNELS, rows, columns),
            *(self.depthwise.accumulators.offset, self.acc[0]),
        ]
        return tensor_intrin("tvmgen_depthwise_window_4", arguments, body)

    def zero_point(self, ky: int | tirx.Expr, kx: int | tirx.Expr) -> tirx.Stmt | None:
        """Return the statement that adds a tap in the padding, or None if padding adds zero."""
        if self.depthwise.accumulators.skips_padding:
            return None
        factor = self.depthwise.accumulators.zero_point

        def term(n: tirx.Expr) -> tirx.Expr:
            return self._element(ky, kx, n).astype("int32") * tirx.IntImm("int32", factor)

        added = self._added(term)
        if self.number != CHANNELS:
            return added
        arguments = [self._element(ky, kx, 0), 1, 1, factor, self.acc[0]]
        return tensor_intrin(f"tvmgen_weights_sum_{CHANNELS}", arguments, added)

    def _products(
        self, position: tuple[tirx.Expr, tirx.Expr], tap: tuple[int | tirx.Expr, int | tirx.Expr]
    ) -> tirx.Stmt:
        data, offset = self.depthwise.data, self.depthwise.accumulators.offset

        def term(n: tirx.Expr) -> tirx.Expr:
            value = data[(self.b, *position, self.c + n)].astype("int32")
            moved = value + tirx.IntImm("int32", offset) if offset else value
            return moved * self._element(*tap, n).astype("int32")

        return self._added(term)

    def _element(self, ky: int | tirx.Expr, kx: int | tirx.Expr, n: int | tirx.Expr) -> tirx.Expr:
        height, width = self.depthwise.window.kernel
        tap = ky * width + kx
        element: tirx.Expr = self.depthwise.weight[
            self.c * (height * width) + tap * self.number + n
        ]
        return element

    def _added(self, term: Callable[[tirx.Expr], tirx.Expr]) -> tirx.Stmt:
        """Add `term` to each channel: in a loop, because many statements slow down analyses."""
        return loop(
            "n", self.number, lambda n: tirx.BufferStore(self.acc, self.acc[n] + term(n), [n])
        )


def _each(width: int, tap: Callable[[int | tirx.Expr], tirx.Stmt | None]) -> tirx.Stmt:
    """Return `tap` for each column: unrolled, or a loop if there are many."""
    if width > _MOST_TAPS:
        return loop("kx", width, tap)
    return sequence([tap(kx) for kx in range(width)])
