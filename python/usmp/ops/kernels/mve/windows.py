"""Windows of a convolution copied to follow each other, padding included."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tvm import tirx

from usmp.ops.kernels.loops import loop
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
    b, height, width = pixel[0], *window.data
    rows, columns = window.kernel
    distance, zero = int(data.shape[3]), tirx.IntImm("int32", 0)
    begin, count = (zero, distance) if channels is None else (channels.first, channels.number)

    def place(ky: tirx.Expr, kx: tirx.Expr, c: tirx.Expr) -> list[tirx.Expr]:
        return [((ky * columns + kx) * count + c) + first]

    def outside(ky: tirx.Expr, kx: tirx.Expr, c: tirx.Expr) -> tirx.Stmt:
        return tirx.BufferStore(copy, tirx.IntImm("int8", padding), place(ky, kx, c))

    def inside(ky: tirx.Expr, kx: tirx.Expr, c: tirx.Expr) -> tirx.Stmt:
        row, column, exists = tap_at(window, pixel, ky, kx)
        copied = tirx.BufferStore(copy, data[b, row, column, begin + c], place(ky, kx, c))
        return tirx.IfThenElse(exists, copied, None)

    def each(element: Callable[[tirx.Expr, tirx.Expr, tirx.Expr], tirx.Stmt]) -> tirx.Stmt:
        def row(ky: tirx.Expr) -> tirx.Stmt:
            return loop("kx", columns, lambda kx: loop("c", count, lambda c: element(ky, kx, c)))

        return loop("ky", rows, row)

    arguments = [
        *(data[b, zero, zero, begin], copy[first], height, width, count, distance),
        *(rows, columns, *window.dilations, *origin_of(window, pixel), padding),
    ]
    # All of the copy is padding before anything of the data is read.
    body = sequence([each(outside), each(inside)])
    return tensor_intrin("tvmgen_mve_window", arguments, body)
