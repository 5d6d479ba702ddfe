"""Bias and factor of each output channel in 48 bits, where that changes no output.

A channel's bias takes 32 bits in the file, its factor a multiplier of 31 bits and a shift: nine
bytes as plain arrays. Three observations make six of them:

- Biases are small: mostly 16 to 20 bits.
- A multiplier has its highest bit set, and the shifts of a layer differ by little.
- A sum of products has a known range, so only so many bits of the multiplier tell apart which
  outputs follow from it. A shorter multiplier is taken only if it gives the same output for every
  accumulator of the range, which is proved at the thresholds where the output changes.

A channel whose output does not depend on the data (its weights are so small that they never move
the result) may have any shift; its weights are set to zero and its factor is made ordinary.

The record is, from the lowest bit: mantissa (below the highest bit), shift (how much less than the
layer's greatest), bias.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from usmp.relax.quantised.accumulators import AccumulatorRange
from usmp.relax.quantised.rescale import Rescale

_RECORD_BITS = 48
_WORD_BITS = 32
_EXACT_MANTISSA_BITS = 30
_LEAST_MANTISSA_BITS = 16
_NEARBY = (0, 1, -1, 2, -2, 3, -3, 4, -4)
"""How far from the nearest one shorter multipliers are tried."""


@dataclass(frozen=True)
class PackedChannels:
    """The records, and how to read them.

    Parameters
    ----------
    records: (channels, 3) of uint16, lowest bits first.
    mantissa_bits, shift_bits: widths of the fields; the bias has the rest of the 48.
    shift: the layer's greatest.
    is_constant: (channels) of bool: the output does not depend on the data; the weights must be 0.
    """

    records: np.ndarray
    mantissa_bits: int
    shift_bits: int
    shift: int
    is_constant: np.ndarray


def pack_channels(
    bias: np.ndarray | None, rescale: Rescale, accumulators: AccumulatorRange
) -> PackedChannels | None:
    """The records of a layer; None if not all of its channels fit.

    Parameters
    ----------
    bias: (channels) of int32, or None.
    rescale: a factor for each channel.
    accumulators: their range in each channel, bias included.
    """
    multiplier = np.array([f.multiplier for f in rescale.factors], np.int64)
    shift = np.array([f.shift for f in rescale.factors], np.int64)
    low = rescale.limits.minimum - rescale.zero_point
    high = rescale.limits.maximum - rescale.zero_point
    first = np.clip(_rescaled(accumulators.least, multiplier, shift), low, high)
    last = np.clip(_rescaled(accumulators.greatest, multiplier, shift), low, high)
    constant = first == last
    biases = np.zeros(len(shift), np.int64) if bias is None else bias.astype(np.int64)
    greatest = int(shift[~constant].max(initial=-31))
    # A factor of exactly 2**-k and a bias of the output times 2**k: the same output.
    exponent = min(max(-greatest, 0), _WORD_BITS - 2 - int(np.abs(first).max()).bit_length())
    biases = np.where(constant, first << exponent, biases)
    multiplier = np.where(constant, 1 << 30, multiplier)
    shift = np.where(constant, 1 - exponent, shift)
    greatest = int(shift.max())
    if greatest > 0 or not multiplier.all():
        return None
    shift_bits = int(greatest - shift.min()).bit_length()
    bias_bits = max(int(np.abs(biases).max()).bit_length() + 1, _RECORD_BITS - _WORD_BITS)
    mantissa_bits = min(_RECORD_BITS - bias_bits - shift_bits, _EXACT_MANTISSA_BITS)
    if mantissa_bits < _LEAST_MANTISSA_BITS:
        return None
    shorter = _shorten(multiplier, shift, mantissa_bits, constant, accumulators, low, high)
    if shorter is None:
        return None
    mantissa = (shorter >> (_EXACT_MANTISSA_BITS - mantissa_bits)) - (1 << mantissa_bits)
    records = mantissa | (greatest - shift) << mantissa_bits
    records |= biases << (mantissa_bits + shift_bits)
    words = np.stack([records >> 16 * i & 0xFFFF for i in range(3)], axis=1)
    return PackedChannels(words.astype(np.uint16), mantissa_bits, shift_bits, greatest, constant)


def _rescaled(value: np.ndarray, multiplier: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """`fixed_point.QuantizedMultiplier.apply` of arrays of int64, before the clamp."""
    left, right = np.maximum(shift, 0), np.maximum(-shift, 0)
    shifted = (value << left).astype(np.int32).astype(np.int64)
    high = (shifted * multiplier + (1 << 30)) >> 31
    mask = (1 << right) - 1
    rounded: np.ndarray = (high >> right) + ((high & mask) > (mask >> 1) + (high < 0))
    return rounded


def _shorten(
    multiplier: np.ndarray,
    shift: np.ndarray,
    mantissa_bits: int,
    constant: np.ndarray,
    accumulators: AccumulatorRange,
    low: int,
    high: int,
) -> np.ndarray | None:
    """Multipliers of so many bits below the highest that give the same outputs; or None."""
    dropped = _EXACT_MANTISSA_BITS - mantissa_bits
    if dropped == 0:
        return multiplier
    thresholds, levels, is_level = _thresholds(multiplier, shift, accumulators, low, high)
    nearest = (multiplier + (1 << (dropped - 1))) >> dropped
    found = np.where(constant, multiplier, 0)
    for offset in _NEARBY:
        candidate = np.clip(nearest + offset, 1 << mantissa_bits, (2 << mantissa_bits) - 1)
        candidate = (candidate << dropped)[:, None]
        at = _rescaled(thresholds, candidate, shift[:, None]) >= levels
        before = _rescaled(thresholds - 1, candidate, shift[:, None]) < levels
        same = ((at & before) | ~is_level).all(axis=1)
        found = np.where((found == 0) & same, candidate[:, 0], found)
    return found if found.all() else None


def _thresholds(
    multiplier: np.ndarray,
    shift: np.ndarray,
    accumulators: AccumulatorRange,
    low: int,
    high: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The least accumulator that gives at least each level, by bisection.

    Returns
    -------
    thresholds, levels, is_level: (channels, levels); a level counts only where `is_level`: where
    some accumulators of the range give less and some at least as much.
    """
    factor, exponent = multiplier[:, None], shift[:, None]
    least, greatest = accumulators.least[:, None], accumulators.greatest[:, None]
    levels = np.arange(low + 1, high + 1)[None, :]
    is_level = (_rescaled(least, factor, exponent) < levels) & (
        _rescaled(greatest, factor, exponent) >= levels
    )
    below = np.broadcast_to(least, is_level.shape).copy()
    above = np.broadcast_to(greatest, is_level.shape).copy()
    while ((above - below) > 1)[is_level].any():
        middle = (below + above) >> 1
        reached = _rescaled(middle, factor, exponent) >= levels
        above = np.where(reached, middle, above)
        below = np.where(reached, below, middle)
    return above, np.broadcast_to(levels, is_level.shape), is_level
