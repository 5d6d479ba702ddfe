"""Pools over a window, and reductions over axes: each channel by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np
from tvm import relax

from usmp.ops import quantized
from usmp.ops.emit import shape_of
from usmp.ops.quantized.fixed_point import factor_of
from usmp.ops.quantized.reduction import factor_of_mean
from usmp.ops.records.reductions import Mean, ReduceMax, ReductionOp, SumOp
from usmp.ops.records.windowed import AveragePool, MaxPool, PoolOp
from usmp.ops.window import Layout, Window
from usmp.relax.transform.channels.channel_operator import (
    ChannelOperator,
    Kept,
    Known,
    RecordedCall,
    identity,
)
from usmp.relax.transform.channels.channel_ranges import ChannelRanges
from usmp.relax.transform.channels.element_ranges import Ends, scaled_ends, shifted_ends
from usmp.relax.transform.channels.faithful import makes
from usmp.relax.transform.channels.taps import all_reach

Make = Callable[[relax.BlockBuilder, relax.Expr], relax.Expr]


def max_pool(known: Known, recorded: RecordedCall) -> ChannelOperator | None:
    """The greatest element under a window."""
    record = recorded.record
    if not isinstance(record, MaxPool):
        return None
    data, layout, window = _data(known, recorded, record)
    if data is None:
        return None
    both, limits = record.outputs[0], record.limits

    def make(builder: relax.BlockBuilder, operand: relax.Expr) -> relax.Expr:
        return quantized.max_pool(builder, operand, window, limits, layout, both)

    return _by_channel(recorded, data, data.axis, (data.least, data.greatest), make)


def average_pool(known: Known, recorded: RecordedCall) -> ChannelOperator | None:
    """The mean of the elements under a window."""
    record = recorded.record
    if not isinstance(record, AveragePool):
        return None
    data, layout, window = _data(known, recorded, record)
    if data is None:
        return None
    before, after, limits = record.inputs[0], record.outputs[0], record.limits
    counts_padding, rounding = record.counts_padding, record.rounding

    def rounded(builder: relax.BlockBuilder, operand: relax.Expr) -> relax.Expr:
        return quantized.average_pool(builder, operand, window, limits, layout, after)

    def rescaled(builder: relax.BlockBuilder, operand: relax.Expr) -> relax.Expr:
        return quantized.rescaled_average_pool(
            builder, operand, window, before, after, limits, layout, counts_padding, rounding
        )

    ends: Ends = (data.least, data.greatest)
    if before == after and not counts_padding and makes(rounded, recorded):
        return _by_channel(recorded, data, data.axis, ends, rounded)
    low, high = shifted_ends(ends, -before.zero_point)
    if counts_padding:
        low, high = np.minimum(low, 0), np.maximum(high, 0)
    counts = [prod(window.kernel)] if counts_padding else window.tap_counts()
    means = [
        scaled_ends(
            (low * count, high * count),
            factor_of((before.scale,), after.scale * count, rounding),
            rounding,
        )
        for count in counts
    ]
    least = np.min([ends[0] for ends in means], axis=0)
    greatest = np.max([ends[1] for ends in means], axis=0)
    ends = shifted_ends((least, greatest), after.zero_point)
    return _by_channel(recorded, data, data.axis, ends, rescaled)


def reduction(known: Known, recorded: RecordedCall) -> ChannelOperator | None:
    """A mean, a sum or an extreme over other axes than that of the channels."""
    record, (operand, *_) = recorded.record, recorded.arguments
    data = known.get(operand)
    if data is None or not isinstance(record, ReductionOp) or data.axis in record.axes:
        return None
    axes = record.axes
    before, after = record.inputs[0], record.outputs[0]
    axis = data.axis - sum(reduced < data.axis for reduced in axes)
    ends: Ends = (data.least, data.greatest)
    if isinstance(record, SumOp):
        rounding = record.rounding
        count = prod(shape_of(operand)[one] for one in set(axes))
        low, high = shifted_ends(ends, -before.zero_point)
        if isinstance(record, Mean):
            factor = factor_of_mean(before, after, count, rounding)
        else:
            factor = factor_of((before.scale,), after.scale, rounding)
        scaled = scaled_ends((low * count, high * count), factor, rounding)
        ends = shifted_ends(scaled, after.zero_point)

    def make(builder: relax.BlockBuilder, operand: relax.Expr) -> relax.Expr:
        if isinstance(record, SumOp):
            total = quantized.mean if isinstance(record, Mean) else quantized.reduce_sum
            return total(builder, operand, axes, before, after, record.rounding)
        extreme = quantized.reduce_max if isinstance(record, ReduceMax) else quantized.reduce_min
        return extreme(builder, operand, axes, after)

    return _by_channel(recorded, data, axis, ends, make)


def _data(
    known: Known, recorded: RecordedCall, record: PoolOp
) -> tuple[ChannelRanges | None, Layout, Window]:
    """The channels of what a pool reads, if their axis is that of its layout, and there is an
    element under each position of its window."""
    layout, window = record.layout.data, record.window(record.kernel, *recorded.shapes)
    data = known.get(recorded.arguments[0])
    if data is not None and data.axis != layout.axes.index("C"):
        data = None
    if not _has_elements(window):
        data = None
    return data, layout, window


def _has_elements(window: Window) -> bool:
    """Whether some element of the data is under each position of the window."""
    return all(all_reach(window, side) for side in (0, 1))


def _by_channel(
    recorded: RecordedCall, data: ChannelRanges, axis: int, ends: Ends, make: Make
) -> ChannelOperator:
    def rebuild(
        builder: relax.BlockBuilder, operands: Sequence[relax.Expr], kept: Kept
    ) -> relax.Expr:
        return make(builder, operands[0])

    output = ChannelRanges(axis, *ends).clamped(*recorded.record.limits.ends)
    ties = (identity(data.count),)
    return ChannelOperator((recorded.arguments[0],), ties, output, rebuild, recorded.prim_func)
