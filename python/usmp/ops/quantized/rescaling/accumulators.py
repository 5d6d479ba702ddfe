"""The range of the accumulators of operators with constant weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from usmp.ops.quantized.rescaling.parameters import Quantization, integer_limits
from usmp.support.errors import UnsupportedModelError


@dataclass(frozen=True)
class AccumulatorRange:
    """Least and greatest accumulator of each output channel, bias included: (channels) int64."""

    least: np.ndarray
    greatest: np.ndarray


def accumulator_range(
    weight: np.ndarray, bias: np.ndarray | None, data: Quantization, accumulator: str
) -> AccumulatorRange:
    """Return the range of sums of weight * (data - zero point), over all or some of the weights.

    Parameters
    ----------
    weight
        (channels, taps), after subtraction of its zero point.
    bias
        (channels) or None.
    data
        quantization of the input.
    accumulator
        element type of the accumulators, "int32" or "int64".

    Raises
    ------
    UnsupportedModelError
        an accumulator could exceed 32 bits, or 48 bits for int64; or a bias takes more than 48.
    """
    low, high = (limit - data.zero_point for limit in integer_limits(data.dtype))
    positive = np.maximum(weight, 0).sum(axis=1, dtype=np.int64)
    negative = np.minimum(weight, 0).sum(axis=1, dtype=np.int64)
    least = positive * min(low, 0) + negative * max(high, 0)
    greatest = positive * max(high, 0) + negative * min(low, 0)
    bits = 48 if accumulator == "int64" else 32
    # Check the sum without the bias too, because the bias is added last.
    _check(least, greatest, bits)
    if bias is not None:
        if np.abs(bias.astype(np.float64)).max(initial=0) >= 2**47:
            raise UnsupportedModelError("a bias takes more than 48 bits")
        least, greatest = least + bias.astype(np.int64), greatest + bias.astype(np.int64)
        _check(least, greatest, bits)
    return AccumulatorRange(least, greatest)


def _check(least: np.ndarray, greatest: np.ndarray, bits: int) -> None:
    if len(least) and (least.min() < -(2 ** (bits - 1)) or greatest.max() >= 2 ** (bits - 1)):
        raise UnsupportedModelError(
            f"its accumulators could reach {int(least.min())} or {int(greatest.max())}, "
            f"more than {bits} bits hold"
        )
