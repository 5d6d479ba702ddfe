"""Products of windows that are too large to be copied: their taps stay in place."""

from __future__ import annotations

from tvm import tirx

from usmp.ops.kernels.loops.line import Line
from usmp.ops.kernels.mve.products import Products, Rows, split_run, tile_products
from usmp.ops.kernels.mve.windows import Channels, Pixel, places_of_taps
from usmp.ops.quantized.rescaling.fixed_point import int32
from usmp.ops.window import Window
from usmp.tir.tensor_intrin import tensor_intrin

_MOST_ROWS = 128
"""The most rows of a window: functions store the address of each in an array of this length."""


def rows_of_taps(window: Window, depth: int) -> Rows | None:
    """Return rows within the `depth` channels of taps; None if functions cannot take them."""
    run = split_run(depth)
    rows = 0 if run is None else window.kernel[0] * window.kernel[1] * run.rows
    # Refuse a single row: `packed_weight` may give it half vectors.
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
    """Return the call that computes all output channels of a pixel.

    Parameters
    ----------
    by
        weights with the rows of `rows_of_taps`.
    data
        (batch, height, width, channels) of int8.
    padding
        the value of taps in the padding.
    channels
        the channels of the data in each tap; all by default.
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
