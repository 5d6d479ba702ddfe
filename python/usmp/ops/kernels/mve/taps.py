"""Products of windows that are too large to be copied: their taps stay where they are."""

from __future__ import annotations

from tvm import tirx

from usmp.ops.kernels.loops.line import Line
from usmp.ops.kernels.mve.products import Products, Rows, split_run, tile_products
from usmp.ops.kernels.mve.windows import Channels, Pixel, distances, tap_at, taps_inside
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
    parts = depth // by.rows.columns
    outside = tirx.IntImm("int8", padding)

    def element(_: tirx.Expr, row: tirx.Expr, k: tirx.Expr) -> tirx.Expr:
        tap, part = tirx.floordiv(row, parts), tirx.floormod(row, parts)
        ky, kx = tirx.floordiv(tap, window.kernel[1]), tirx.floormod(tap, window.kernel[1])
        y, x, exists = tap_at(window, pixel, ky, kx)
        inside = data[pixel[0], y, x, begin + part * by.rows.columns + k]
        return tirx.if_then_else(exists, inside, outside)

    b, y, x = pixel
    inside = taps_inside(window, 0, y), taps_inside(window, 1, x)
    arguments = [
        *(data[b, inside[0].first, inside[1].first, begin], *by.constants, output.at(0)),
        *(by.channels, by.rows.columns, depth, *by.limits.arguments, *window.kernel),
        *(of_side for side in inside for of_side in (side.before, side.number)),
        *distances(window, int(data.shape[3])),
        padding,
    ]
    body = tile_products(by, element, output, 1)
    return tensor_intrin(f"tvmgen_mve_conv2d_taps{by.suffix}", arguments, body)
