"""The constant arguments of operators with constant weights."""

from __future__ import annotations

import numpy as np

from usmp.ops.quantized.rescaling.accumulators import accumulator_range
from usmp.ops.quantized.rescaling.parameters import Quantization
from usmp.ops.quantized.rescaling.rescale import Rescale

CONSTANTS = ("weight", "bias", "multiplier", "shift")
"""The constant arguments of an operator with constant weights, in order: the constants by which
TFLite and CMSIS-NN define it. All but the weight are (output channels) of int32; the bias is of
int64 if accumulators are."""


def weighted_constants(
    weight: np.ndarray,
    zero_point: int,
    bias: np.ndarray | None,
    data: Quantization,
    rescale: Rescale,
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return the weight to use, and bias, multiplier and shift of each output channel.

    In channels whose factor is 0, weights become their zero point, and biases 0, because kernels
    multiply even an overflowed accumulator by 0 there. Converters write such channels with a scale
    of 1e-21 and a bias of -(2**31 - 1).

    Parameters
    ----------
    weight
        (channels, taps) of integers of 8 bits or more.
    zero_point
        zero point of the weight.
    bias
        (channels) of int32 or int64, or None.
    data
        quantization of the input.

    Raises
    ------
    UnsupportedModelError
        the accumulators may overflow.
    """
    multiplier, shift = rescale.arrays(len(weight))
    is_live, dtype = multiplier != 0, rescale.rounding.accumulator
    used_weight = np.where(is_live[:, None], weight, zero_point).astype(weight.dtype)
    biases = np.zeros(len(weight), np.int64) if bias is None else np.where(is_live, bias, 0)
    real = used_weight.astype(np.int32) - zero_point if zero_point else used_weight
    accumulator_range(real, biases, data, dtype)
    return used_weight, (biases.astype(dtype), multiplier, shift)


def without_channels(
    weight: np.ndarray, quantization: Quantization, is_removed: np.ndarray
) -> np.ndarray:
    """Return the weight with the zero point as all elements of removed output channels.

    Parameters
    ----------
    quantization
        quantization of the weight; its axis is the axis of the output channels.
    is_removed
        (output channels) of bool.
    """
    others = [axis for axis in range(weight.ndim) if axis != quantization.axis]
    zero_point = quantization.zero_points[0]
    values = np.where(np.expand_dims(is_removed, others), zero_point, weight)
    return values.astype(weight.dtype)


def narrowed(bias: np.ndarray) -> np.ndarray:
    """Return the bias in the narrowest type of int16, int32 and int64 that holds it."""
    for dtype in (np.int16, np.int32):
        if (bias == bias.astype(dtype)).all():
            return bias.astype(dtype)
    return bias
