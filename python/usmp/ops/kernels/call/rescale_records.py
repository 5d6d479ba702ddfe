"""Bias, multiplier and shift of each output channel in a record that needs no decoding.

A record has two 32-bit integers: the multiplier, and bias << 8 | right shift, because Arm's shifts
by a register read only its lowest byte. A bias of more than 24 bits is a third integer. The cheap
rescaling by records equals TFLite's, which rounds twice, under two conditions: each accumulator is
less than 2**30, so that its double has 32 bits, and the right shift is at least 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from usmp.ops.quantized.rescaling.accumulators import AccumulatorRange

_LEAST_MULTIPLIER = 2**30
"""The least multiplier of a normalized factor other than 0."""
_LEAST_SHIFT, _GREATEST_SHIFT = 1, 22
"""The range of right shifts: with a greater one, the rounding summand may exceed 32 bits."""


@dataclass(frozen=True)
class RescaleRecords:
    """The records of a layer.

    Parameters
    ----------
    values
        (channels, 2 or 3) of int32.
    """

    values: np.ndarray

    @property
    def has_wide_bias(self) -> bool:
        """Whether the bias is a third integer."""
        return int(self.values.shape[1]) == 3


def rescale_records(
    bias: np.ndarray, multiplier: np.ndarray, shift: np.ndarray, accumulators: AccumulatorRange
) -> RescaleRecords | None:
    """Return the records; None if the rescaling would not be exact.

    Parameters
    ----------
    bias
        (channels) of int64, the initial values of accumulators.
    multiplier, shift
        (channels), as in `QuantizedMultiplier`: a positive shift is to the left.
    accumulators
        the range of the accumulators of each channel, with bias.
    """
    right = -shift.astype(np.int64)
    is_exact = (
        multiplier.min(initial=_LEAST_MULTIPLIER) >= _LEAST_MULTIPLIER
        and right.min(initial=_LEAST_SHIFT) >= _LEAST_SHIFT
        and right.max(initial=_LEAST_SHIFT) <= _GREATEST_SHIFT
        and accumulators.least.min(initial=0) > -(2**30)
        and accumulators.greatest.max(initial=0) < 2**30
        and np.abs(bias).max(initial=0) < 2**31
    )
    if not is_exact:
        return None
    if np.abs(bias).max(initial=0) < 2**23:
        columns = [multiplier, bias << 8 | right]
    else:
        columns = [multiplier, right, bias]
    return RescaleRecords(np.stack(columns, axis=1).astype(np.int32))
