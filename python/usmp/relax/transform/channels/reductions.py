"""Value ranges of pools and reductions."""

from __future__ import annotations

from math import prod

import numpy as np

from usmp.ops.emit import shape_of
from usmp.ops.quantized.reduction import factor_of_mean
from usmp.ops.quantized.rescaling.fixed_point import factor_of
from usmp.ops.records.reductions import Mean, ReductionOp, SumOp
from usmp.ops.records.windowed import AveragePool, PoolOp
from usmp.relax.transform.channels.channel_operator import RecordedCall
from usmp.relax.transform.channels.taps import all_reach
from usmp.relax.transform.channels.value_bounds import Ends, scaled_ends


def shifted_ends(ends: Ends, amount: int) -> Ends:
    """Return value ranges, each moved by `amount`."""
    return ends[0] + amount, ends[1] + amount


def pool_ends(recorded: RecordedCall, record: PoolOp, ends: Ends) -> Ends | None:
    """Return the value ranges of a pool, or None if a kernel window can be all padding."""
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
    bounds = []
    for count in counts:
        factor = factor_of((before.scale,), after.scale * count, rounding)
        ends_of_sum = (low * count, high * count)
        mean = scaled_ends(ends_of_sum, factor.multiplier, factor.shift, rounding)
        bounds.append(shifted_ends(mean, after.zero_point))
    if before == after and not record.counts_padding:
        # At one scale, the mean may be rounded without a multiplier.
        bounds.append(ends)
    return np.min([low for low, _ in bounds], axis=0), np.max([high for _, high in bounds], axis=0)


def reduction_ends(recorded: RecordedCall, record: ReductionOp, ends: Ends) -> Ends:
    """Return the value ranges of a mean, sum, minimum or maximum over other axes than channels."""
    if not isinstance(record, SumOp):
        return ends
    before, after, rounding = record.inputs[0], record.outputs[0], record.rounding
    count = prod(shape_of(recorded.arguments[0])[axis] for axis in set(record.axes))
    low, high = shifted_ends(ends, -before.zero_point)
    if isinstance(record, Mean):
        factor = factor_of_mean(before, after, count, rounding)
    else:
        factor = factor_of((before.scale,), after.scale, rounding)
    scaled = scaled_ends((low * count, high * count), factor.multiplier, factor.shift, rounding)
    return shifted_ends(scaled, after.zero_point)
