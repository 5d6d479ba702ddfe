"""Contiguous copies of kernel windows, with padding, and the taps that lie in the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tvm import tirx

from usmp.ops.kernels.loops.loops import nested
from usmp.ops.quantized.rescaling.fixed_point import int32
from usmp.ops.window import Window
from usmp.tir.nodes import sequence
from usmp.tir.tensor_intrin import tensor_intrin

MOST_ON_STACK = 1024
"""The most bytes of windows that are copied to the stack."""


FEWEST_OUTPUTS = 3
"""The fewest output channels for which taps are copied, or read, one by one: vector functions
compute four channels, and for one or two, dot products take fewer instructions."""


@dataclass(frozen=True)
class Channels:
    """A range of channels."""

    first: tirx.Expr
    number: int


Pixel = tuple[tirx.Expr, tirx.Expr, tirx.Expr]
"""Batch, row and column of the output."""


def has_dilated_columns(window: Window) -> bool:
    """Return whether the taps of a row are not contiguous in the data."""
    return window.dilations[1] != 1 and window.kernel[1] != 1


@dataclass(frozen=True)
class TapsInside:
    """The rows, or columns, of taps of a window that lie in the data.

    Parameters
    ----------
    first
        the row or column of the first tap in the data; arbitrary if no tap lies in the data.
    before
        number of rows or columns of taps before the data.
    number
        number of rows or columns of taps in the data.
    """

    first: tirx.Expr
    before: tirx.Expr
    number: tirx.Expr


def taps_inside(window: Window, side: int, index: tirx.Expr) -> TapsInside:
    """Return the rows (side 0) or columns (side 1) of taps in the data for an output index.

    Functions take the address of the first tap in the data, not of the data, because a ring buffer
    may not hold the rows before it.
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
    """Return the quotient of a value that is not negative, rounded up."""
    return value if divisor == 1 else tirx.truncdiv(value + (divisor - 1), int32(divisor))


def places_of_taps(
    data: tirx.Var, window: Window, pixel: Pixel, channel: tirx.Expr
) -> tuple[tirx.Expr, list[tirx.Expr | int]]:
    """Return the element of the first tap in the data, and the arguments by which functions address
    all taps: numbers of rows of taps before the data and in the data; these numbers of columns;
    distances in elements from one row of taps to the next, and from one column to the next."""
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
    """Copy the kernel window of a pixel.

    Parameters
    ----------
    data
        (batch, height, width, channels) of int8.
    window
        the kernel window over the data.
    pixel
        the output pixel.
    padding
        the value of taps in the padding.
    copy, first
        the destination, and its first element.
    channels
        the channels to copy; all by default.
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

    def inside(ky: tirx.Expr, kx: tirx.Expr, c: tirx.Expr) -> tirx.Stmt:
        row, column = window.tap(y, x, ky, kx)
        copied = tirx.BufferStore(copy, data[b, row, column, begin + c], place(ky, kx, c))
        return tirx.IfThenElse(window.has(row, column), copied, None)

    def over_taps(element: Callable[[tirx.Expr, tirx.Expr, tirx.Expr], tirx.Stmt]) -> tirx.Stmt:
        return nested(element, ky=rows, kx=columns, c=count)

    first_tap, places = places_of_taps(data, window, pixel, begin)
    arguments = [first_tap, copy[first], count, rows, columns, *places, padding]
    # Fill the copy with padding before any data is read, like the vector function.
    body = sequence([over_taps(outside), over_taps(inside)])
    return tensor_intrin("tvmgen_mve_window", arguments, body)
