"""Rescaling of arrays of accumulators at compile time, exactly like the emitted C.

`rescaled` is `usmp.ops.quantized.rescaling.fixed_point.multiply` in NumPy.
"""

from __future__ import annotations

import numpy as np

from usmp.ops.quantized.rescaling.fixed_point import Rounding


def rescaled(
    value: np.ndarray, multiplier: np.ndarray, shift: np.ndarray, rounding: Rounding
) -> np.ndarray:
    """Return accumulators times factors, rounded, before zero point and clamp: int64.

    Parameters
    ----------
    value
        int64 accumulators, which fit the accumulator type of the rounding.
    multiplier, shift
        int64, of a shape that is broadcast to the shape of `value`.
    """
    if rounding is Rounding.TWICE:
        return rescaled_twice(value, multiplier, shift)
    if rounding is Rounding.ONCE:
        return _rounded_shift(value * multiplier, 31 - shift)
    if rounding is Rounding.AS_FLOAT:
        factor = (multiplier * 2.0 ** (shift - 31.0)).astype(np.float32)
        nearest: np.ndarray = np.rint(value.astype(np.float32) * factor).astype(np.int64)
        return nearest
    reduced = np.where(multiplier < 0x7FFF0000, (multiplier + (1 << 15)) >> 16, 0x7FFF)
    return _rounded_shift(value * reduced, 15 - shift)


def rescaled_twice(value: np.ndarray, multiplier: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Apply `QuantizedMultiplier.apply` to arrays of int64, before zero point and clamp."""
    left, right = np.maximum(shift, 0), np.maximum(-shift, 0)
    shifted = (value << left).astype(np.int32).astype(np.int64)
    high = (shifted * multiplier + (1 << 30)) >> 31
    mask = (1 << right) - 1
    rounded: np.ndarray = (high >> right) + ((high & mask) > (mask >> 1) + (high < 0))
    return rounded


def never_wraps(
    value: np.ndarray, multiplier: np.ndarray, shift: np.ndarray, rounding: Rounding
) -> np.ndarray:
    """Return whether no intermediate result, zero point included, overflows for accumulators of at
    most this magnitude: an array of bool. Without overflow, the rescaling is monotonic."""
    room = 2.0**31 - 2.0**16
    if rounding is Rounding.TWICE:
        greatest = np.abs(value) * 2.0 ** np.maximum(shift, 0)
    else:
        greatest = np.abs(value) * multiplier.astype(np.float64) * 2.0 ** (shift - 31.0)
    within: np.ndarray = greatest < room
    return within


def _rounded_shift(value: np.ndarray, right: np.ndarray) -> np.ndarray:
    shifted: np.ndarray = (value + (np.int64(1) << (right - 1))) >> right
    return shifted
