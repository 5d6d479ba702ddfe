"""What operators on elements make of ranges of integers: exactly, since they are monotone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from usmp.ops.quantized import QuantizedMultiplier, Rounding
from usmp.ops.quantized.activations import factor_of_relu
from usmp.ops.quantized.arithmetic import factors_of_sum
from usmp.ops.quantized.fixed_point import factor_of
from usmp.ops.quantized.rescaled_arrays import never_wraps, rescaled
from usmp.ops.records import QuantizedOp
from usmp.ops.records.elementwise import Relu, Requantize

Ends: TypeAlias = "tuple[np.ndarray, np.ndarray]"
"""Least and greatest integer of each channel: (channels) of int64 each."""

Ranges: TypeAlias = Callable[[Any, Sequence[Ends]], Ends]
"""From the operands' ends to those of the output, before its limits."""

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


def _sum(record: QuantizedOp, operands: Sequence[Ends]) -> Ends:
    left, right, factor = _terms(record, operands)
    total = (left[0] + right[0], left[1] + right[1])
    return shifted_ends(scaled_ends(total, factor), record.outputs[0].zero_point)


def _difference(record: QuantizedOp, operands: Sequence[Ends]) -> Ends:
    left, right, factor = _terms(record, operands)
    total = (left[0] - right[1], left[1] - right[0])
    return shifted_ends(scaled_ends(total, factor), record.outputs[0].zero_point)


def _terms(record: QuantizedOp, operands: Sequence[Ends]) -> tuple[Ends, Ends, QuantizedMultiplier]:
    """Both terms at a common scale, and the factor from that to the output."""
    first, second = record.inputs
    factors, left_shift = factors_of_sum((first, second, record.outputs[0]))
    left, right = (
        scaled_ends(
            (
                (ends[0] - quantization.zero_point) << left_shift,
                (ends[1] - quantization.zero_point) << left_shift,
            ),
            factor,
        )
        for ends, quantization, factor in zip(operands, (first, second), factors[:2], strict=True)
    )
    return left, right, factors[2]


def _maximum(record: QuantizedOp, operands: Sequence[Ends]) -> Ends:
    left, right = operands
    return np.maximum(left[0], right[0]), np.maximum(left[1], right[1])


def _minimum(record: QuantizedOp, operands: Sequence[Ends]) -> Ends:
    left, right = operands
    return np.minimum(left[0], right[0]), np.minimum(left[1], right[1])


def _same(record: QuantizedOp, operands: Sequence[Ends]) -> Ends:
    (ends,) = operands
    return ends


def _requantized(record: Relu | Requantize, operands: Sequence[Ends]) -> Ends:
    (ends,) = operands
    before, after = record.inputs[0], record.outputs[0]
    rounding = record.rounding
    if isinstance(record, Relu):
        factor = factor_of_relu(before, after, rounding)
    else:
        factor = factor_of((before.scale,), after.scale, rounding)
    centered = shifted_ends(ends, -before.zero_point)
    return shifted_ends(scaled_ends(centered, factor, rounding), after.zero_point)


RANGES: dict[str, Ranges] = {
    "add": _sum,
    "clamp": _same,
    "maximum": _maximum,
    "minimum": _minimum,
    "relu": _requantized,
    "requantize": _requantized,
    "subtract": _difference,
}
"""By kind; of the others it is taken that they give all that their limits allow."""
