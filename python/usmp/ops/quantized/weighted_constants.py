"""The constants of operators with constant weights, as their PrimFuncs take them."""

from __future__ import annotations

import numpy as np

from usmp.ops.quantized.accumulators import accumulator_range
from usmp.ops.quantized.parameters import Quantization
from usmp.ops.quantized.rescale import Rescale

CONSTANTS = ("weight", "bias", "multiplier", "shift")
"""The constants of an operator with constant weights, in the order in which its PrimFunc takes
them: those by which TFLite and CMSIS-NN define it. All but the weight are (output channels) of
int32; the bias is of int64 where accumulators are."""


def weighted_constants(
    weight: np.ndarray,
    zero_point: int,
    bias: np.ndarray | None,
    data: Quantization,
    rescale: Rescale,
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return the weight to use, and bias, multiplier and shift of each output channel.

    Weights are their zero point, and biases 0, in channels whose factor is 0. The kernels multiply
    any accumulator by 0 there, also one that has left its type, as those of channels that
    converters write with a scale of 1e-21 and a bias of -(2**31 - 1).

    Parameters
    ----------
    weight
        (channels, taps) of 8-bit integers and wider.
    zero_point
        of the weight.
    bias
        (channels) of int32 or int64, or None.
    data
        of the input.

    Raises
    ------
    UnsupportedModelError
        the accumulators may overflow.
    """
    multiplier, shift = rescale.arrays(len(weight))
    is_live, dtype = multiplier != 0, rescale.rounding.accumulator
    kept = np.where(is_live[:, None], weight, zero_point).astype(weight.dtype)
    biases = np.zeros(len(weight), np.int64) if bias is None else np.where(is_live, bias, 0)
    real = kept.astype(np.int32) - zero_point if zero_point else kept
    accumulator_range(real, biases, data, dtype)
    return kept, (biases.astype(dtype), multiplier, shift)


def without_channels(
    weight: np.ndarray, quantization: Quantization, is_removed: np.ndarray
) -> np.ndarray:
    """Return a weight that is its zero point in some output channels.

    Parameters
    ----------
    quantization
        of the weight; its axis is that of the output channels.
    is_removed
        (output channels) of bool.
    """
    others = [axis for axis in range(weight.ndim) if axis != quantization.axis]
    zero_point = quantization.zero_points[0]
    kept = np.where(np.expand_dims(is_removed, others), zero_point, weight)
    return kept.astype(weight.dtype)


def narrowed(bias: np.ndarray) -> np.ndarray:
    """Return the bias in the narrowest of int16, int32 and int64."""
    for dtype in (np.int16, np.int32):
        if (bias == bias.astype(dtype)).all():
            return bias.astype(dtype)
    return bias
