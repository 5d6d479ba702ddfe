"""Kernels of pooling: sums or maxima of four channels at a time.

Loops over pixels are outermost, in raster order, so that outputs may overwrite inputs after their
last use. At the border, only the taps that lie in the data are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tvm import tirx
from tvm.ir import Call

from usmp.objects.schedule import Schedule
from usmp.objects.target.cores import Core
from usmp.ops.kernels.call.data_window import data_window
from usmp.ops.kernels.call.limits import Limits, limits_of
from usmp.ops.kernels.call.mean_of_taps import is_mean
from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.call.operator_parts import OperatorParts
from usmp.ops.kernels.kernel import Kernel, TiledBody, kernel
from usmp.ops.kernels.loops.accumulators import Indices
from usmp.ops.kernels.loops.index_ranges import inner_range, within
from usmp.ops.kernels.loops.loops import loop, loop_by_tiles, nested, tile_text
from usmp.ops.kernels.sums.reduction_rows import rows_of_reduction
from usmp.ops.kernels.sums.reductions import CHANNELS, beginnings, reduced, reduced_element
from usmp.ops.records.windowed import PoolOp
from usmp.ops.window import Window
from usmp.tir.nodes import sequence
from usmp.tir.op_names import is_op

_NEUTRAL = {tirx.Add: 0, tirx.Max: -(2**31)}
"""The neutral elements of reductions: taps in the padding must have these values."""

_MANY_TAPS = 9
"""The least number of taps for which tiles of maxima beat plain loops on any core."""


@dataclass(frozen=True)
class TapRange:
    """A range of rows or columns of taps."""

    begin: tirx.Expr
    extent: tirx.Expr | int


def pool_kernel(call: OperatorCall, core: Core) -> Kernel | None:
    """Return the kernel of an int8 pooling of NHWC data; None for unsupported operators."""
    pooling = pooling_of(call)
    if pooling is None or not (core.has_dsp or pooling.is_sum or pooling.is_long):
        return None
    tile = f"1 pixel x {tile_text(int(pooling.data.shape[3]), (CHANNELS, 1))}"
    tiled = TiledBody(pooling.loops(), Schedule(tile))
    return kernel(call, [tiled], {}, rows_of_reduction(call, core))


def pooling_of(call: OperatorCall) -> Pooling | None:
    """Return the pooling that an operator computes; None for unsupported operators."""
    record = next(iter(call.records), None)
    if not isinstance(record, PoolOp):
        return None
    parts = call.window_parts
    data = None if parts is None else _pooled(parts)
    if parts is None or data is None:
        return None
    window = data_window(parts, data, parts.axes[3])
    return None if window is None or window.dilations != (1, 1) else Pooling(parts, data, window)


def _pooled(parts: OperatorParts) -> tirx.Var | None:
    """Return the data; None unless int8 elements are reduced in 32 bits and padding is neutral."""
    value = parts.sum
    if isinstance(value, Call) and is_op(value, "prim.if_then_else"):
        _, value, outside = value.args
        neutral = _NEUTRAL[parts.reduction]
        if not isinstance(outside, tirx.IntImm) or int(outside) != neutral:
            return None
    element = reduced_element(parts, value)
    return element.source if element is not None and len(parts.axes) == 6 else None


@dataclass(frozen=True)
class Pooling:
    """A reduction of (batch, height, width, channels) data over a kernel window."""

    parts: OperatorParts
    data: tirx.Var
    window: Window

    @cached_property
    def mean_limits(self) -> Limits | None:
        """The limits of a mean of the taps that lie in the data; None if outputs are no means."""
        limited = limits_of(self.parts.value)
        is_plain = limited is not None and limited[1].zero_point == 0
        if limited is None or not is_plain or self.window.tap_counts()[0] < 1:
            return None
        return limited[1] if is_mean(limited[0], self.parts) else None

    @property
    def is_sum(self) -> bool:
        """Whether elements are added, not compared."""
        return self.parts.reduction is tirx.Add

    @property
    def is_long(self) -> bool:
        """Whether tiles of maxima beat plain loops even on cores that do not compare four elements
        at once: there are many taps, or plain loops test each tap for padding."""
        taps = self.window.kernel[0] * self.window.kernel[1]
        return taps >= _MANY_TAPS or self.window.tap_counts() != [taps]

    def loops(self) -> tirx.Stmt:
        """Return the loops over all pixels."""
        window = self.window
        rows, columns = (inner_range(window, side) for side in (0, 1))
        height, width = window.output

        def pixel(b: tirx.Expr, y: tirx.Expr, x: tirx.Expr) -> tirx.Stmt:
            if rows.first >= rows.end or columns.first >= columns.end:
                return self._edge(b, y, x)
            guard = [*within(y, rows, height), *within(x, columns, width)]
            inside = self._whole((b, y, x))
            if not guard:
                return inside
            return tirx.IfThenElse(tirx.all(*guard), inside, self._edge(b, y, x))

        return nested(pixel, b=int(self.data.shape[0]), y=height, x=width)

    def _edge(self, b: tirx.Expr, y: tirx.Expr, x: tirx.Expr) -> tirx.Stmt:
        """Return statements that compute a pixel from the taps that lie in the data."""
        binds: list[tirx.Stmt] = []
        ranges = []
        for side, index in enumerate((y, x)):
            first, taps = self.first(side, index), self.window.kernel[side]
            begin, end = (tirx.Var(f"{name}_{'yx'[side]}", "int32") for name in ("begin", "end"))
            inside = tirx.IntImm("int32", self.window.data[side]) - first
            binds += [
                tirx.Bind(begin, tirx.min(tirx.max(tirx.IntImm("int32", 0) - first, 0), taps)),
                tirx.Bind(end, tirx.max(tirx.min(inside, taps), begin)),
            ]
            ranges.append(TapRange(begin, end - begin))
        return sequence([*binds, self.channels((b, y, x), *ranges)])

    def first(self, side: int, index: tirx.Expr) -> tirx.Expr:
        """Return the row (side 0) or column (side 1) of the data at the first tap."""
        return index * self.window.strides[side] - self.window.padding[side]

    def _whole(self, pixel: Indices) -> tirx.Stmt:
        """Return statements that compute a pixel from all taps."""
        rows, columns = (TapRange(tirx.IntImm("int32", 0), taps) for taps in self.window.kernel)
        if self.window.kernel[1] == self.window.data[1] and not self.window.padding[1]:
            # Rows of taps are contiguous: reduce all of them as one row.
            taps = self.window.kernel[0] * self.window.kernel[1]
            rows, columns = TapRange(rows.begin, 1), TapRange(columns.begin, taps)
        return self.channels(pixel, rows, columns)

    def channels(self, pixel: Indices, rows: TapRange, columns: TapRange) -> tirx.Stmt:
        """Return loops that compute all channels of a pixel from some rows and columns of taps."""
        count = rows.extent * columns.extent

        def tile(c: tirx.Expr, number: int) -> list[tirx.Stmt]:
            acc = tirx.decl_buffer((number,), "int32", "acc", scope="local")

            def row(ky: tirx.Expr) -> tirx.Stmt:
                return self._row((*pixel, c), rows.begin + ky, columns, acc)

            return [
                tirx.AllocBuffer(acc),
                *beginnings(self.parts.reduction, acc),
                loop("ky", rows.extent, row),
                *(self._store(acc[n], (*pixel, c + n), count) for n in range(number)),
            ]

        return loop_by_tiles("c", int(self.data.shape[3]), (CHANNELS, 1), tile)

    def _row(self, element: Indices, ky: tirx.Expr, columns: TapRange, acc: tirx.Var) -> tirx.Stmt:
        """Reduce a row of taps, for as many channels as there are accumulators."""
        b, y, x, c = element
        row, column = self.first(0, y) + ky, self.first(1, x) + columns.begin

        def tap(k: tirx.Expr, n: int) -> tirx.Expr:
            value: tirx.Expr = self.data[b, row, column + k, c + n]
            return value

        distance = int(self.data.shape[3])
        return reduced(self.parts.reduction, tap, distance, columns.extent, acc)

    def _store(self, accumulator: tirx.Expr, indices: Indices, count: tirx.Expr | int) -> tirx.Stmt:
        """Store the output element of an accumulator of `count` taps."""
        limits = self.mean_limits
        if limits is None:
            value = self.parts.element(accumulator, indices)
        else:
            # Divide in 32 bits, because the operator's own division in 64 bits is slow.
            taps = tirx.IntImm("int32", count) if isinstance(count, int) else count.astype("int32")
            half = tirx.truncdiv(taps, tirx.IntImm("int32", 2))
            rounded = tirx.Select(accumulator > 0, accumulator + half, accumulator - half)
            mean = tirx.truncdiv(rounded, taps)
            value = limits.clamp(mean)
        return tirx.BufferStore(self.parts.output, value, list(indices))
