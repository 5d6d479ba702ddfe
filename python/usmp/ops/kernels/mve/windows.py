"""Windows of a convolution copied to follow each other, padding included."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tvm import tirx

from usmp.ops.kernels.loops.loops import nested
from usmp.ops.quantized.fixed_point import int32
from usmp.ops.window import Window
from usmp.tir.nodes import sequence
from usmp.tir.tensor_intrin import tensor_intrin

MOST_ON_STACK = 1024
"""The most bytes of windows that are copied to the stack."""


FEWEST_OUTPUTS = 3
"""Channels that pay for windows whose taps are copied, or read, one by one: functions compute four,
and dot products take fewer instructions for one or two."""


@dataclass(frozen=True)
class Channels:
    """Some channels that follow each other."""

    first: tirx.Expr
    number: int


Pixel = tuple[tirx.Expr, tirx.Expr, tirx.Expr]
"""Batch, row and column of the output."""


def has_dilated_columns(window: Window) -> bool:
    """Whether taps of a row do not follow each other in the data."""
    return window.dilations[1] != 1 and window.kernel[1] != 1


@dataclass(frozen=True)
class TapsInside:
    """The rows, or columns, of taps of a window that lie in the data.

    Parameters
    ----------
    first
        the row or column of the data that the first of them is at, or any if there are none.
    before
        how many lie before the data.
    number
        how many lie in the data.
    """

    first: tirx.Expr
    before: tirx.Expr
    number: tirx.Expr


def taps_inside(window: Window, side: int, index: tirx.Expr) -> TapsInside:
    """The rows (side 0) or columns (side 1) of an output row or column.

    Functions take the address of the first of them, not of the data: of data that is kept only in
    part, what lies before may not be there.
    """
    extent, taps, dilation = window.data[side], window.kernel[side], window.dilations[side]
    stride, padding = window.strides[side], window.padding[side]
    origins = [output * stride - padding for output in range(window.output[side])]
    first = origin = index * stride - padding
    zero = int32(0)
    before, up_to = zero, int32(taps)
    if origins[0] < 0:
        before = _quotient(tirx.max(zero - origin, zero), dilation)
        first = tirx.max(origin, zero) if dilation == 1 else origin + before * dilation
    if origins[-1] + (taps - 1) * dilation >= extent:
        up_to = tirx.min(_quotient(tirx.max(extent - origin, zero), dilation), up_to)
    number = up_to - before
    if not all(_has_tap_inside(at, taps, dilation, extent) for at in origins):
        first, number = tirx.min(first, int32(extent - 1)), tirx.max(number, zero)
    return TapsInside(first, before, number)


def _has_tap_inside(origin: int, taps: int, dilation: int, extent: int) -> bool:
    return any(0 <= at < extent for at in range(origin, origin + taps * dilation, dilation))


def _quotient(value: tirx.Expr, divisor: int) -> tirx.Expr:
    """Of what is not negative, rounded up."""
    return value if divisor == 1 else tirx.truncdiv(value + (divisor - 1), int32(divisor))


def places_of_taps(
    data: tirx.Var, window: Window, pixel: Pixel, channel: tirx.Expr
) -> tuple[tirx.Expr, list[tirx.Expr | int]]:
    """Return the element of the first tap in the data, and what functions take to find the others:
    rows before the data and in it, columns alike, elements from one row of taps to the next, and
    from one column to the next."""
    b, y, x = pixel
    rows, columns = taps_inside(window, 0, y), taps_inside(window, 1, x)
    column_distance = window.dilations[1] * int(data.shape[3])
    row_distance = window.dilations[0] * window.data[1] * int(data.shape[3])
    numbers = [rows.before, rows.number, columns.before, columns.number]
    first = data[b, rows.first, columns.first, channel]
    return first, [*numbers, row_distance, column_distance]


def copy_window(
    data: tirx.Var,
    window: Window,
    pixel: Pixel,
    padding: int,
    copy: tirx.Var,
    first: tirx.Expr | int,
    channels: Channels | None = None,
) -> tirx.Stmt:
    """Copy what the window of a pixel covers.

    Parameters
    ----------
    data
        (batch, height, width, channels) of int8.
    window
        how taps lie in the data.
    pixel
        whose window it is.
    padding
        what is outside of the data.
    copy, first
        where to, and its first element.
    channels
        that are copied; all by default.
    """
    b, y, x = pixel
    rows, columns = window.kernel
    begin, count = (
        (int32(0), int(data.shape[3])) if channels is None else (channels.first, channels.number)
    )

    def place(ky: tirx.Expr, kx: tirx.Expr, c: tirx.Expr) -> list[tirx.Expr]:
        return [((ky * columns + kx) * count + c) + first]

    def outside(ky: tirx.Expr, kx: tirx.Expr, c: tirx.Expr) -> tirx.Stmt:
        return tirx.BufferStore(copy, tirx.IntImm("int8", padding), place(ky, kx, c))

    def taken(ky: tirx.Expr, kx: tirx.Expr, c: tirx.Expr) -> tirx.Stmt:
        row, column = window.tap(y, x, ky, kx)
        copied = tirx.BufferStore(copy, data[b, row, column, begin + c], place(ky, kx, c))
        return tirx.IfThenElse(window.has(row, column), copied, None)

    def each(element: Callable[[tirx.Expr, tirx.Expr, tirx.Expr], tirx.Stmt]) -> tirx.Stmt:
        return nested(element, ky=rows, kx=columns, c=count)

    taken_first, places = places_of_taps(data, window, pixel, begin)
    arguments = [taken_first, copy[first], count, rows, columns, *places, padding]
    # All of the copy is padding before anything of the data is read.
    body = sequence([each(outside), each(taken)])
    return tensor_intrin("tvmgen_mve_window", arguments, body)
