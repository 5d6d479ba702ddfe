"""Copies of kernel windows from images with channels first to channels last."""

from __future__ import annotations

from tvm import tirx

from usmp.ops.kernels.loops.accumulators import Indices
from usmp.ops.kernels.loops.loops import loop, unrolled_loop
from usmp.ops.window import Window

_MOST_UNROLLED = 8
"""The most columns of a window that C copies in statements of their own, not in a loop."""


def copy_planes(
    data: tirx.Var,
    window: Window,
    pixel: Indices,
    padding: int,
    copy: tirx.Var,
    first: tirx.Expr | int,
    is_inside: tirx.Expr | None = None,
) -> tirx.Stmt:
    """Copy the kernel window of a pixel, in the order (row, column, channel).

    Parameters
    ----------
    data
        (batch, channels, height, width) of int8.
    pixel
        batch, row and column of the output.
    padding
        the value of taps in the padding.
    copy, first
        the destination, and its first element.
    is_inside
        a condition under which the whole window lies in the data, so that no tap is tested; None to
        test each tap.
    """
    b, y, x = pixel
    (height, width), channels = window.kernel, int(data.shape[1])

    def copied(guarded: bool) -> tirx.Stmt:
        def element(c: tirx.Expr, ky: tirx.Expr, kx: tirx.Expr) -> tirx.Stmt:
            row, column = window.tap(y, x, ky, kx)
            value = data[b, c, row, column]
            if guarded:
                outside = tirx.IntImm("int8", padding)
                value = tirx.if_then_else(window.has(row, column), value, outside)
            return tirx.BufferStore(copy, value, [((ky * width + kx) * channels + c) + first])

        def line(c: tirx.Expr, ky: tirx.Expr) -> tirx.Stmt:
            columns = loop if guarded or width > _MOST_UNROLLED else unrolled_loop
            return columns("kx", width, lambda kx: element(c, ky, kx))

        return loop("c", channels, lambda c: loop("ky", height, lambda ky: line(c, ky)))

    if is_inside is None:
        return copied(True)
    return tirx.IfThenElse(is_inside, copied(False), copied(True))
