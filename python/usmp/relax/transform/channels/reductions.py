"""What pools over a window, and reductions over axes, make of ranges of integers."""

from __future__ import annotations

from math import prod

import numpy as np

from usmp.ops.emit import shape_of
from usmp.ops.quantized import QuantizedMultiplier, Rounding
from usmp.ops.quantized.fixed_point import factor_of
from usmp.ops.quantized.reduction import factor_of_mean
from usmp.ops.quantized.rescaled_arrays import never_wraps, rescaled
from usmp.ops.records.reductions import Mean, ReductionOp, SumOp
from usmp.ops.records.windowed import AveragePool, PoolOp
from usmp.relax.transform.channels.channel_operator import RecordedCall
from usmp.relax.transform.channels.taps import all_reach
from usmp.relax.transform.channels.value_bounds import Ends

_LEAST, _GREATEST = -(2**31), 2**31 - 1


def scaled_ends(
    ends: Ends, factor: QuantizedMultiplier, rounding: Rounding = Rounding.TWICE
) -> Ends:
    """What a factor makes of 32-bit integers (`usmp.ops.quantized.fixed_point.apply_multiplier`):
    anything, if one of the ends could wrap on the way."""
    multiplier, shift = (np.array([part]) for part in (factor.multiplier, factor.shift))
    fits = np.all([never_wraps(end, multiplier, shift, rounding) for end in ends], axis=0)
    least, greatest = (rescaled(end, multiplier, shift, rounding) for end in ends)
    return np.where(fits, least, _LEAST), np.where(fits, greatest, _GREATEST)


def shifted_ends(ends: Ends, amount: int) -> Ends:
    """The ends plus a number."""
    return ends[0] + amount, ends[1] + amount


def pool_ends(recorded: RecordedCall, record: PoolOp, ends: Ends) -> Ends | None:
    """Return what a pool gives; None if no element may be under a position of its window."""
    window = record.window(record.kernel, *recorded.shapes)
    if not all(all_reach(window, side) for side in (0, 1)):
        return None
    if not isinstance(record, AveragePool):
        return ends
    before, after, rounding = record.inputs[0], record.outputs[0], record.rounding
    low, high = shifted_ends(ends, -before.zero_point)
    if record.counts_padding:
        low, high = np.minimum(low, 0), np.maximum(high, 0)
    counts = [prod(window.kernel)] if record.counts_padding else window.tap_counts()
    means = [
        scaled_ends(
            (low * count, high * count),
            factor_of((before.scale,), after.scale * count, rounding),
            rounding,
        )
        for count in counts
    ]
    found = [shifted_ends(mean, after.zero_point) for mean in means]
    if before == after and not record.counts_padding:
        # Such a mean may be rounded without a factor.
        found.append(ends)
    return np.min([low for low, _ in found], axis=0), np.max([high for _, high in found], axis=0)


def reduction_ends(recorded: RecordedCall, record: ReductionOp, ends: Ends) -> Ends:
    """Return what a mean, a sum or an extreme over other axes than the channels gives."""
    if not isinstance(record, SumOp):
        return ends
    before, after, rounding = record.inputs[0], record.outputs[0], record.rounding
    count = prod(shape_of(recorded.arguments[0])[axis] for axis in set(record.axes))
    low, high = shifted_ends(ends, -before.zero_point)
    if isinstance(record, Mean):
        factor = factor_of_mean(before, after, count, rounding)
    else:
        factor = factor_of((before.scale,), after.scale, rounding)
    return shifted_ends(
        scaled_ends((low * count, high * count), factor, rounding), after.zero_point
    )
