"""Pools over a window, and reductions over axes: each channel by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import cast

import numpy as np
from tvm import relax

from usmp.ops import quantized
from usmp.ops.emit import shape_of
from usmp.ops.quantized import Layout, Window
from usmp.ops.quantized.describe import rounding_of
from usmp.ops.quantized.fixed_point import factor_of
from usmp.ops.quantized.reduction import factor_of_mean
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
from usmp.relax.transform.channels.products import clamp_of, limits_of
from usmp.relax.transform.channels.taps import all_reach
from usmp.relax.transform.channels.windows import window_of

Make = Callable[[relax.BlockBuilder, relax.Expr], relax.Expr]


def max_pool(known: Known, recorded: RecordedCall) -> ChannelOperator | None:
    """The greatest element under a window."""
    data, layout, window = _data(known, recorded)
    if data is None:
        return None

    def make(builder: relax.BlockBuilder, operand: relax.Expr) -> relax.Expr:
        both = recorded.record.outputs[0]
        return quantized.max_pool(
            builder, operand, window, limits_of(recorded.record), layout, both
        )

    return _by_channel(recorded, data, data.axis, (data.least, data.greatest), make)


def average_pool(known: Known, recorded: RecordedCall) -> ChannelOperator | None:
    """The mean of the elements under a window."""
    data, layout, window = _data(known, recorded)
    if data is None:
        return None
    record = recorded.record
    before, after, limits = record.inputs[0], record.outputs[0], limits_of(record)
    counts_padding = bool(record.parameters["counts_padding"])
    rounding = rounding_of(record)

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
    data, axes = known.get(operand), _integers(record.parameters["axes"])
    if data is None or data.axis in axes:
        return None
    before, after = record.inputs[0], record.outputs[0]
    axis = data.axis - sum(reduced < data.axis for reduced in axes)
    ends: Ends = (data.least, data.greatest)
    rounding = rounding_of(record)
    if record.kind in ("mean", "sum"):
        count = prod(shape_of(operand)[one] for one in set(axes))
        low, high = shifted_ends(ends, -before.zero_point)
        if record.kind == "mean":
            factor = factor_of_mean(before, after, count, rounding)
        else:
            factor = factor_of((before.scale,), after.scale, rounding)
        scaled = scaled_ends((low * count, high * count), factor, rounding)
        ends = shifted_ends(scaled, after.zero_point)

    def make(builder: relax.BlockBuilder, operand: relax.Expr) -> relax.Expr:
        if record.kind == "mean":
            return quantized.mean(builder, operand, axes, before, after, rounding)
        if record.kind == "sum":
            return quantized.reduce_sum(builder, operand, axes, before, after, rounding)
        extreme = quantized.reduce_max if record.kind == "reduce_max" else quantized.reduce_min
        return extreme(builder, operand, axes, after)

    return _by_channel(recorded, data, axis, ends, make)


def _data(known: Known, recorded: RecordedCall) -> tuple[ChannelRanges | None, Layout, Window]:
    """The channels of what a pool reads, if their axis is that of its layout, and there is an
    element under each position of its window."""
    kernel = _integers(recorded.record.parameters["kernel"])
    layout, _, window = window_of(recorded, (kernel[0], kernel[1]))
    data = known.get(recorded.arguments[0])
    if data is not None and data.axis != layout.axes.index("C"):
        data = None
    if not _has_elements(window):
        data = None
    return data, layout, window


def _has_elements(window: Window) -> bool:
    """Whether some element of the data is under each position of the window."""
    return all(all_reach(window, side) for side in (0, 1))


def _integers(value: object) -> list[int]:
    return [int(one) for one in cast("list[int]", value)]


def _by_channel(
    recorded: RecordedCall, data: ChannelRanges, axis: int, ends: Ends, make: Make
) -> ChannelOperator:
    def rebuild(
        builder: relax.BlockBuilder, operands: Sequence[relax.Expr], kept: Kept
    ) -> relax.Expr:
        return make(builder, operands[0])

    output = ChannelRanges(axis, *ends).clamped(*clamp_of(recorded.record))
    ties = (identity(data.count),)
    return ChannelOperator((recorded.arguments[0],), ties, output, rebuild, recorded.prim_func)
