"""Kernels of grouped convolutions, by tiles: some pixels and output channels of one group.

A depthwise convolution with several outputs per data channel has a group for each data channel.

Loops over tiles of pixels are outermost, in raster order, and loops over groups within, so that
outputs may overwrite inputs after their last use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from tvm import tirx

from usmp.objects.schedule import Schedule
from usmp.objects.target.cores import Core
from usmp.ops.dot_products import Run, dot_products, window_products
from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.costs import Costs, costs_of
from usmp.ops.kernels.images.conv2d import row_tiles
from usmp.ops.kernels.images.convolution import SINGLE_CHANNELS
from usmp.ops.kernels.images.convolution_call import convolution_call
from usmp.ops.kernels.images.convolution_edges import if_column
from usmp.ops.kernels.kernel import Kernel, TiledBody, kernel
from usmp.ops.kernels.loops.accumulators import Accumulators, Indices
from usmp.ops.kernels.loops.index_ranges import inner_range, within
from usmp.ops.kernels.loops.loops import (
    counted,
    loop,
    loop_by_tiles,
    nested,
    tile_counts,
    tile_text,
)
from usmp.ops.window import Window

_TILES: tuple[tuple[int, Sequence[int]], ...] = ((2, (2, 1)), (1, (4, 2, 1)))
"""Alternative tiles: a number of pixels, and numbers of channels (see `loop_by_tiles`)."""


def grouped_conv2d_kernel(call: OperatorCall, core: Core) -> Kernel | None:
    """Return the kernel of a grouped convolution of NHWC data; None for unsupported operators."""
    conv_op = convolution_call(call)
    if conv_op is None or conv_op.groups.number == 1 or conv_op.groups.are_single_channels:
        return None
    operator, weight, groups = conv_op.operator, conv_op.weight, conv_op.groups
    ending = operator.ending_of(weight, folds=False)
    flat = tirx.decl_buffer((weight.size,), "int8", "weight")
    shape = (groups.number, groups.outputs, groups.depth)
    conv = _Grouped(operator.data, flat, groups.window, *shape, ending.accumulators)
    bodies = [conv.tiled(pixels, channels, costs_of(core)) for pixels, channels in _TILES]
    return kernel(call, bodies, ending.replaced(flat, weight.ravel()))


@dataclass(frozen=True)
class _Grouped:
    """A convolution of groups, each with `depth` data channels and `outputs` output channels."""

    data: tirx.Var
    weight: tirx.Var
    window: Window
    groups: int
    outputs: int
    depth: int
    accumulators: Accumulators

    def tiled(self, pixels: int, channels: Sequence[int], costs: Costs) -> TiledBody:
        """Return the loops by tiles, with their estimated instructions."""
        tile = f"{counted(pixels, 'pixel')} x {tile_text(self.outputs, channels)}"
        text = f"{tile}, {counted(self.groups, 'group')}"
        taps = self.window.kernel[0] * self.window.kernel[1]
        sums = sum(
            count * (costs.pixel + costs.sums((pixels, size), taps, self.depth))
            for size, count in tile_counts(self.outputs, channels)
        )
        outputs = int(self.data.shape[0]) * self.window.output[0] * self.window.output[1]
        instructions = outputs * self.groups * (sums / pixels + self.outputs * costs.output)
        return TiledBody(self._loops(pixels, channels), Schedule(text, int(instructions)))

    def _loops(self, pixels: int, channels: Sequence[int]) -> tirx.Stmt:
        window = self.window
        rows, row = inner_range(window, 0), row_tiles(window, pixels)
        height, width = window.output
        is_reached = row.inner.first < row.inner.end and rows.first < rows.end

        def of_tile(b: tirx.Expr, y: tirx.Expr, tile: tirx.Expr) -> tirx.Stmt:
            x = tile * pixels + row.origin
            whole = self._channels((b, y, x), pixels, channels, self._inner)
            guard = [*within(y, rows, height), *within(tile, row.inner, row.number)]
            if not guard and row.origin == 0 and row.number * pixels == width:
                return whole
            single = loop("p", pixels, lambda p: self._edge((b, y, x + p)))
            return tirx.IfThenElse(tirx.all(*guard), whole, single) if is_reached else single

        return nested(of_tile, b=int(self.data.shape[0]), y=height, tile=row.number)

    def _edge(self, pixel: Indices) -> tirx.Stmt:
        """Return loops that compute a pixel, if the output has it, from the taps in the data."""
        body = self._channels(pixel, 1, SINGLE_CHANNELS, self._clipped)
        return if_column(self.window, pixel[2], body)

    def _channels(
        self,
        pixel: Indices,
        pixels: int,
        channels: Sequence[int],
        products: Callable[[Indices, tuple[int, int], tirx.Expr, tirx.Expr, tirx.Var], tirx.Stmt],
    ) -> tirx.Stmt:
        """Return the loops over all channels of a tile of pixels. `products` returns the statement
        that adds the products of a tile to its accumulators."""
        b, y, x = pixel
        outputs = [(b, y, x + p) for p in range(pixels)]

        def tile(group: tirx.Expr, c: tirx.Expr, number: int) -> list[tirx.Stmt]:
            first = group * self.outputs + c
            add = partial(products, pixel, (pixels, number), group, first)
            return self.accumulators.tile(outputs, first, number, add)

        def of_group(group: tirx.Expr) -> tirx.Stmt:
            return loop_by_tiles("c", self.outputs, channels, partial(tile, group))

        return loop("group", self.groups, of_group)

    def _inner(
        self,
        pixel: Indices,
        tile: tuple[int, int],
        group: tirx.Expr,
        first: tirx.Expr,
        acc: tirx.Var,
    ) -> tirx.Stmt:
        """Add the products of pixels whose windows lie in the data. One call adds a row of taps,
        whose columns are at equal distances."""
        height, width = self.window.kernel
        zero = tirx.IntImm("int32", 0)

        def row(ky: tirx.Expr) -> tirx.Stmt:
            data, weight = self._tap(pixel, group, first, ky, zero)
            columns, shape = (2, self.window.dilations[1]), (width, self.depth)
            offset = self.accumulators.offset
            return window_products(data, columns, weight, shape, offset, acc, tile)

        return loop("ky", height, row)

    def _clipped(
        self,
        pixel: Indices,
        tile: tuple[int, int],
        group: tirx.Expr,
        first: tirx.Expr,
        acc: tirx.Var,
    ) -> tirx.Stmt:
        """Add the products of the taps of a pixel that lie in the data."""
        window = self.window

        def tap(ky: tirx.Expr, kx: tirx.Expr) -> tirx.Stmt:
            data, weight = self._tap(pixel, group, first, ky, kx)
            _, row, column, _ = data.indices
            offset = self.accumulators.offset
            products = dot_products(data, weight, self.depth, offset, acc, tile)
            return tirx.IfThenElse(window.has(row, column), products, None)

        height, width = window.kernel
        return nested(tap, ky=height, kx=width)

    def _tap(
        self,
        pixel: Indices,
        group: tirx.Expr,
        first: tirx.Expr,
        ky: tirx.Expr,
        kx: tirx.Expr,
    ) -> tuple[Run, Run]:
        """Return the data of a group at a tap, and its weights for output channels from `first`."""
        window, (b, y, x) = self.window, pixel
        height, width = window.kernel
        distance = window.strides[1] * int(self.data.shape[3])
        begin = ((first * height + ky) * width + kx) * self.depth
        return (
            Run(self.data, (b, *window.tap(y, x, ky, kx), group * self.depth), distance),
            Run(self.weight, (begin,), height * width * self.depth),
        )
