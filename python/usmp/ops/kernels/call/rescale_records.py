"""Bias and factor of each output channel in a record that needs no decoding.

A record is the multiplier, and bias << 8 | shift to the right, two 32-bit integers: shifts by a
register take its lowest byte only. Where a bias takes more than 24 bits, it is a third integer.
What it is used for computes the same as TFLite's rescaling, which rounds twice, if each
accumulator is less than 2**30, so that its double has 32 bits, and the shift is at least 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from usmp.ops.quantized.accumulators import AccumulatorRange

_LEAST_MULTIPLIER = 2**30
"""Of factors that are not 0."""
_LEAST_SHIFT, _GREATEST_SHIFT = 1, 22
"""With more, what is added to round may take more than 32 bits."""


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
        """Whether the bias is an integer of its own."""
        return int(self.values.shape[1]) == 3


def rescale_records(
    bias: np.ndarray, multiplier: np.ndarray, shift: np.ndarray, accumulators: AccumulatorRange
) -> RescaleRecords | None:
    """The records; None if the rescaling would not be exact.

    Parameters
    ----------
    bias
        (channels) of int64, what an accumulator begins with.
    multiplier, shift
        (channels), as in `QuantizedMultiplier`: to the left if positive.
    accumulators
        their range in each channel, bias included.
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
