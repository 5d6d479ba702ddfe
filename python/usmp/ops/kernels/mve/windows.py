"""Windows of a convolution copied to follow each other, padding included."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tvm import tirx

from usmp.ops.kernels.loops import loop
from usmp.ops.quantized.fixed_point import int32
from usmp.ops.quantized.window import Window
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


def origin_of(window: Window, pixel: Pixel) -> tuple[tirx.Expr, tirx.Expr]:
    """The row and column of the data that the first tap of a pixel is at."""
    _, y, x = pixel
    return (
        y * window.strides[0] - window.padding[0],
        x * window.strides[1] - window.padding[1],
    )


@dataclass(frozen=True)
class RowsInside:
    """The rows of taps of a window that lie in the data.

    Parameters
    ----------
    first
        the row of the data that the first of them is at, or any if there are none.
    above
        how many rows of taps lie before the data.
    number
        how many lie in the data.
    """

    first: tirx.Expr
    above: tirx.Expr
    number: tirx.Expr


def rows_inside(window: Window, y: tirx.Expr) -> RowsInside:
    """Those of the pixels of an output row.

    Functions take the address of the first of these rows, not of the data: of data that is kept
    only in part, the rows before may not be there.
    """
    (height, _), (taps, _), (dilation, _) = window.data, window.kernel, window.dilations
    tops = [row * window.strides[0] - window.padding[0] for row in range(window.output[0])]
    first = top = y * window.strides[0] - window.padding[0]
    zero = int32(0)
    above, up_to = zero, int32(taps)
    if tops[0] < 0:
        above = _quotient(tirx.max(zero - top, zero), dilation)
        first = tirx.max(top, zero) if dilation == 1 else top + above * dilation
    if tops[-1] + (taps - 1) * dilation >= height:
        up_to = tirx.min(_quotient(tirx.max(height - top, zero), dilation), up_to)
    number = up_to - above
    if not all(_has_row_inside(top, taps, dilation, height) for top in tops):
        first, number = tirx.min(first, int32(height - 1)), tirx.max(number, zero)
    return RowsInside(first, above, number)


def _has_row_inside(top: int, taps: int, dilation: int, height: int) -> bool:
    return any(0 <= row < height for row in range(top, top + taps * dilation, dilation))


def _quotient(value: tirx.Expr, divisor: int) -> tirx.Expr:
    """Of what is not negative, rounded up."""
    return value if divisor == 1 else tirx.truncdiv(value + (divisor - 1), int32(divisor))


def tap_at(
    window: Window, pixel: Pixel, ky: tirx.Expr, kx: tirx.Expr
) -> tuple[tirx.Expr, tirx.Expr, tirx.Expr]:
    """The row and column of the data that a tap of a pixel is at, and whether the data has it."""
    top, left = origin_of(window, pixel)
    row, column = top + ky * window.dilations[0], left + kx * window.dilations[1]
    height, width = window.data
    return row, column, tirx.all(row >= 0, row < height, column >= 0, column < width)


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
    b, inside = pixel[0], rows_inside(window, pixel[1])
    rows, columns = window.kernel
    distance, zero = int(data.shape[3]), tirx.IntImm("int32", 0)
    begin, count = (zero, distance) if channels is None else (channels.first, channels.number)

    def place(ky: tirx.Expr, kx: tirx.Expr, c: tirx.Expr) -> list[tirx.Expr]:
        return [((ky * columns + kx) * count + c) + first]

    def outside(ky: tirx.Expr, kx: tirx.Expr, c: tirx.Expr) -> tirx.Stmt:
        return tirx.BufferStore(copy, tirx.IntImm("int8", padding), place(ky, kx, c))

    def taken(ky: tirx.Expr, kx: tirx.Expr, c: tirx.Expr) -> tirx.Stmt:
        row, column, exists = tap_at(window, pixel, ky, kx)
        copied = tirx.BufferStore(copy, data[b, row, column, begin + c], place(ky, kx, c))
        return tirx.IfThenElse(exists, copied, None)

    def each(element: Callable[[tirx.Expr, tirx.Expr, tirx.Expr], tirx.Stmt]) -> tirx.Stmt:
        def row(ky: tirx.Expr) -> tirx.Stmt:
            return loop("kx", columns, lambda kx: loop("c", count, lambda c: element(ky, kx, c)))

        return loop("ky", rows, row)

    arguments = [
        *(data[b, inside.first, zero, begin], copy[first], inside.above, inside.number),
        *(window.data[1], count, distance, rows, columns, *window.dilations),
        *(origin_of(window, pixel)[1], padding),
    ]
    # All of the copy is padding before anything of the data is read.
    body = sequence([each(outside), each(taken)])
    return tensor_intrin("tvmgen_mve_window", arguments, body)
