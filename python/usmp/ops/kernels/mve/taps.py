"""Products of windows that are too large to be copied: their taps stay where they are."""

from __future__ import annotations

from tvm import tirx

from usmp.ops.kernels.loops.line import Line
from usmp.ops.kernels.mve.products import Products, Rows, split_run, tile_products
from usmp.ops.kernels.mve.windows import Channels, Pixel, places_of_taps
from usmp.ops.quantized.fixed_point import int32
from usmp.ops.window import Window
from usmp.tir.tensor_intrin import tensor_intrin

_MOST_ROWS = 128
"""Of all taps of a window: functions keep as many addresses."""


def rows_of_taps(window: Window, depth: int) -> Rows | None:
    """The rows of a window of which each tap is some channels; None if functions take no such."""
    run = split_run(depth)
    rows = 0 if run is None else window.kernel[0] * window.kernel[1] * run.rows
    # The weights of a single row may be half vectors.
    return Rows(rows, run.columns) if run is not None and 1 < rows <= _MOST_ROWS else None


def window_products(
    by: Products,
    data: tirx.Var,
    window: Window,
    pixel: Pixel,
    padding: int,
    output: Line,
    channels: Channels | None = None,
) -> tirx.Stmt:
    """All channels of a pixel.

    Parameters
    ----------
    by
        with `rows_of_taps`.
    data
        (batch, height, width, channels) of int8.
    padding
        what is outside of the data.
    channels
        of the data that the taps are; all by default.
    """
    begin, depth = (
        (int32(0), int(data.shape[3])) if channels is None else (channels.first, channels.number)
    )
    parts, (b, y, x) = depth // by.rows.columns, pixel
    outside = tirx.IntImm("int8", padding)

    def element(_: tirx.Expr, row: tirx.Expr, k: tirx.Expr) -> tirx.Expr:
        tap, part = tirx.floordiv(row, parts), tirx.floormod(row, parts)
        ky, kx = tirx.floordiv(tap, window.kernel[1]), tirx.floormod(tap, window.kernel[1])
        place = window.tap(y, x, ky, kx)
        inside = data[(b, *place, begin + part * by.rows.columns + k)]
        return tirx.if_then_else(window.has(*place), inside, outside)

    first, places = places_of_taps(data, window, pixel, begin)
    arguments = [
        *(first, *by.constants, output.at(0), by.channels, by.rows.columns, depth),
        *(*by.limits.arguments, *window.kernel, *places, padding),
    ]
    body = tile_products(by, element, output, 1)
    return tensor_intrin(f"tvmgen_mve_conv2d_taps{by.suffix}", arguments, body)
