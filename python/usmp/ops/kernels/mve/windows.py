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


@dataclass(frozen=True)
class Channels:
    """Some channels that follow each other."""

    first: tirx.Expr
    number: int


def copy_window(
    data: tirx.Var,
    window: Window,
    pixel: tuple[tirx.Expr, tirx.Expr, tirx.Expr],
    padding: int,
    copy: tirx.Var,
    first: int,
    channels: Channels | None = None,
) -> tirx.Stmt:
    """Copy what the window of a pixel covers.

    Parameters
    ----------
    data
        (batch, height, width, channels) of int8.
    window
        whose columns follow each other: no dilation between them.
    pixel
        batch, row and column of the output.
    padding
        what is outside of the data.
    copy, first
        where to, and its first element.
    channels
        that are copied; all by default.
    """
    b, y, x = pixel
    height, width = window.data
    rows, columns = window.kernel
    distance, zero = int(data.shape[3]), tirx.IntImm("int32", 0)
    begin, count = (zero, distance) if channels is None else (channels.first, channels.number)
    top = y * window.strides[0] - window.padding[0]
    left = x * window.strides[1] - window.padding[1]

    def place(ky: tirx.Expr, kx: tirx.Expr, c: tirx.Expr) -> list[tirx.Expr]:
        return [((ky * columns + kx) * count + c) + first]

    def outside(ky: tirx.Expr, kx: tirx.Expr, c: tirx.Expr) -> tirx.Stmt:
        return tirx.BufferStore(copy, tirx.IntImm("int8", padding), place(ky, kx, c))

    def inside(ky: tirx.Expr, kx: tirx.Expr, c: tirx.Expr) -> tirx.Stmt:
        row, column = top + ky * window.dilations[0], left + kx
        exists = tirx.all(row >= 0, row < height, column >= 0, column < width)
        copied = tirx.BufferStore(copy, data[b, row, column, begin + c], place(ky, kx, c))
        return tirx.IfThenElse(exists, copied, None)

    def each(element: Callable[[tirx.Expr, tirx.Expr, tirx.Expr], tirx.Stmt]) -> tirx.Stmt:
        def row(ky: tirx.Expr) -> tirx.Stmt:
            return loop("kx", columns, lambda kx: loop("c", count, lambda c: element(ky, kx, c)))

        return loop("ky", rows, row)

    arguments = [
        *(data[b, zero, zero, begin], copy[first], height, width, count, distance),
        *(rows, columns, window.dilations[0], top, left, padding),
    ]
    # All of the copy is padding before anything of the data is read.
    body = sequence([each(outside), each(inside)])
    return tensor_intrin("tvmgen_mve_window", arguments, body)
