"""The kernel of `depthwise_conv2d` operators for cores with MVE: 16 channels at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from tvm import tirx

from usmp.objects.schedule import Schedule
from usmp.objects.target.cores import Core
from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.call.weighted import WeightedOperator
from usmp.ops.kernels.elements.element_runs import Compute
from usmp.ops.kernels.images.convolution_call import convolution_call
from usmp.ops.kernels.kernel import Kernel, TiledBody, kernel
from usmp.ops.kernels.loops.line import Line
from usmp.ops.kernels.loops.loops import nested
from usmp.ops.kernels.mve.costs import depthwise_instructions
from usmp.ops.kernels.mve.ending import (
    VectorEnding,
    constant_parameters,
    plain_or_functions,
    rescaled,
)
from usmp.ops.kernels.mve.factor import suffix_of
from usmp.ops.kernels.mve.products import LANES
from usmp.ops.kernels.mve.windows import taps_inside
from usmp.ops.window import Window
from usmp.tir.nodes import sequence
from usmp.tir.tensor_intrin import tensor_intrin

_NINE = 9
_MOST_TAPS = (_NINE, 16, 64)
"""The most taps of each function; the function for nine taps takes exactly nine."""


def mve_depthwise_kernel(call: OperatorCall, core: Core) -> Kernel | None:
    """Return the kernel of a depthwise convolution; None for unsupported operators."""
    conv_op = convolution_call(call) if core.has_mve else None
    if conv_op is None or not conv_op.groups.are_single_channels:
        return None
    operator, window, weight = conv_op.operator, conv_op.groups.window, conv_op.weight
    channels, taps = weight.shape
    # The sum of two products must fit 16 bits, so no weight may be -128.
    if taps > _MOST_TAPS[-1] or int(weight.min(initial=0)) < -127:
        return None
    epilogue = plain_or_functions(operator, weight, core)
    if epilogue is None:
        return None
    ending, function = epilogue
    values, records = _packed_weight(weight.T), _packed_records(ending)
    parameters, replaced = constant_parameters(operator, values, records)
    body = _loops(operator, _rows(window), *parameters, ending, function)
    instructions = depthwise_instructions(taps, channels, *window.output)
    tiled = TiledBody(body, Schedule("1 pixel x 16 channels, vectors", instructions))
    return kernel(call, [tiled], replaced)


def _slots(taps: int) -> int:
    """Return the number of taps in the packed weight: functions compute at least two."""
    return max(taps, 2)


def _lanes(channels: int) -> np.ndarray:
    """Return the channel of each lane. Few channels are repeated, so that several pixels share a
    vector. Lanes beyond the channels have -1."""
    if channels < LANES and LANES % channels == 0:
        return np.arange(LANES) % channels
    lanes = np.arange(-(-channels // LANES) * LANES)
    return np.where(lanes < channels, lanes, -1)


def _packed_weight(weight: np.ndarray) -> np.ndarray:
    """Return a weight (taps, channels) as (channels / 16, taps, 16), flat."""
    taps, channels = weight.shape
    lanes = _lanes(channels)
    padded = np.zeros((_slots(taps), lanes.size), np.int8)
    padded[:taps] = np.where(lanes < 0, 0, weight[:, lanes])
    blocks = padded.reshape(-1, lanes.size // LANES, LANES).transpose(1, 0, 2)
    return np.ascontiguousarray(blocks).ravel()


def _packed_records(ending: VectorEnding) -> np.ndarray:
    """Return records (channels / 16, 4, 2, 4), flat: bias and shift, then multiplier, of channels
    0, 4, 8, 12; of 2, 6, 10, 14; of 1, 5, 9, 13; of 3, 7, 11, 15."""
    lanes = _lanes(ending.packed.size)
    records = np.stack([ending.packed, ending.multiplier])
    padded = np.where(lanes < 0, 0, records[:, lanes]).astype(np.int32)
    quads = padded.reshape(2, -1, 4, 4)[:, :, :, [0, 2, 1, 3]]
    return np.ascontiguousarray(quads.transpose(1, 3, 0, 2)).ravel()


@dataclass(frozen=True)
class _Rows:
    """The rows of pixels that calls compute, one each. Data of one column is transposed to a row.

    Parameters
    ----------
    window
        the kernel window over the data.
    is_transposed
        whether rows of the window are columns of the data.
    """

    window: Window
    is_transposed: bool

    def at(self, row: tirx.Expr, column: tirx.Expr) -> tuple[tirx.Expr, tirx.Expr]:
        """Return row and column of the data or the output."""
        return (column, row) if self.is_transposed else (row, column)


def _rows(window: Window) -> _Rows:
    if (window.data[1], window.kernel[1], window.padding[1], window.output[1]) != (1, 1, 0, 1):
        return _Rows(window, False)
    transposed = Window(
        window.data[::-1],
        window.kernel[::-1],
        window.strides[::-1],
        window.dilations[::-1],
        window.padding[::-1],
        window.output[::-1],
    )
    return _Rows(transposed, True)


def _loops(
    operator: WeightedOperator,
    rows: _Rows,
    weight: tirx.Var,
    records: tirx.Var,
    ending: VectorEnding,
    function: Compute | None,
) -> tirx.Stmt:
    data, output, window = operator.data, operator.parts.output, rows.window
    batch, channels = int(data.shape[0]), int(data.shape[3])
    left = tirx.IntImm("int32", -window.padding[1])
    zero = tirx.IntImm("int32", 0)
    taps = window.kernel[0] * window.kernel[1]

    def row(b: tirx.Expr, y: tirx.Expr) -> tirx.Stmt:
        inside = taps_inside(window, 0, y)
        arguments = [
            *(
                data[(b, *rows.at(inside.first, zero), zero)],
                weight[0],
                records[0],
                output[(b, *rows.at(y, zero), zero)],
            ),
            *(inside.before, inside.number, window.data[1], channels, *window.kernel),
            *(window.strides[1], *window.dilations, left, window.output[1]),
            *(operator.zero_point, *ending.limits.arguments),
        ]
        body = nested(partial(element, b, y), x=window.output[1], c=channels)
        most = _NINE if taps == _NINE else next(n for n in _MOST_TAPS[1:] if taps <= n)
        symbol = f"tvmgen_mve_depthwise_row_{most}{suffix_of(ending.rounding)}"
        computed = tensor_intrin(symbol, arguments, body)
        if function is None:
            return computed
        line = Line(output, (b, *rows.at(y, zero), zero), channels)
        return sequence([computed, function([line], line, window.output[1] * channels)])

    def element(b: tirx.Expr, y: tirx.Expr, x: tirx.Expr, c: tirx.Expr) -> tirx.Stmt:
        acc = tirx.decl_buffer((1,), "int32", "acc", scope="local")
        block, lane = tirx.floordiv(c, LANES), tirx.floormod(c, LANES)

        def tap(ky: tirx.Expr, kx: tirx.Expr) -> tirx.Stmt:
            position = window.tap(y, x, ky, kx)
            value = data[(b, *rows.at(*position), c)].astype("int32")
            inside = window.inside(position)
            if inside is not None:
                padding = tirx.IntImm("int32", operator.zero_point)
                value = tirx.if_then_else(inside, value, padding)
            place = (block * _slots(taps) + ky * window.kernel[1] + kx) * LANES + lane
            product = value * weight[place].astype("int32")
            return tirx.BufferStore(acc, acc[0] + product, [0])

        # Records are in the order of the sums: lanes 0, 4, 8, 12, then 2, 6, 10, 14, then odd ones.
        odd, half = tirx.floormod(lane, 2), tirx.floormod(tirx.floordiv(lane, 2), 2)
        quad = (block * 4 + odd * 2 + half) * 8 + tirx.floordiv(lane, 4)
        value = rescaled(acc[0], records, quad, ending.limits, ending.rounding)
        statements = [
            tirx.AllocBuffer(acc),
            tirx.BufferStore(acc, tirx.IntImm("int32", 0), [0]),
            nested(tap, ky=window.kernel[0], kx=window.kernel[1]),
            tirx.BufferStore(output, value, [b, *rows.at(y, x), c]),
        ]
        return sequence(statements)

    return nested(row, b=batch, y=window.output[0])
