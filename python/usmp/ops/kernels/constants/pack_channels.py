"""Bias and factor of each output channel in 48 or 56 bits, where that changes no output.

A channel's bias takes 32 bits in the file, its factor a multiplier of 31 bits and a shift: nine
bytes as plain arrays. Three observations make six or seven of them:

- Biases are small: mostly 16 to 20 bits.
- A multiplier has its highest bit set, and the shifts of a layer differ by little.
- A sum of products has a known range, so only so many bits of the multiplier decide which
  outputs follow from it. A shorter multiplier is taken only if it gives the same output for every
  accumulator of the range, which is proved at the thresholds where the output changes.

A channel whose output does not depend on the data (its weights are so small that they never move
the result) may have any shift; its weights are set to zero and its factor is made ordinary.

The record is, from the lowest bit: what follows the multiplier's highest bit, shift (how much less
than the layer's greatest), bias.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from usmp.ops.quantized.accumulators import AccumulatorRange
from usmp.ops.quantized.rescaled_arrays import rescaled_twice

_RECORD_BITS = (48, 56)
_MANTISSA_BITS = 30
_LEAST_MANTISSA_BITS = 16
_NEARBY = (0, 1, -1, 2, -2, 3, -3, 4, -4)
"""How far from the nearest one shorter multipliers are tried."""
_NEAR = 8
"""Accumulators by which rounding twice moves a threshold, at the most, or nearly so."""


@dataclass(frozen=True)
class PackedChannels:
    """The records, and how to read them.

    Parameters
    ----------
    records
        (channels, 3) of uint16, lowest bits first; (channels) of uint8, the highest ones, if
        there are more than 48.
    record_bits, mantissa_bits, shift_bits
        widths of the record and of its fields; the bias has the
        rest.
    shift
        the layer's greatest.
    bias, multiplier, shifts
        (channels) of int64: what the records hold.
    is_constant
        (channels) of bool: the output does not depend on the data; the weights must be 0.
    """

    records: tuple[np.ndarray, ...]
    record_bits: int
    mantissa_bits: int
    shift_bits: int
    shift: int
    bias: np.ndarray
    multiplier: np.ndarray
    shifts: np.ndarray
    is_constant: np.ndarray


def pack_channels(
    bias: np.ndarray,
    multiplier: np.ndarray,
    shift: np.ndarray,
    limits: tuple[int, int],
    accumulators: AccumulatorRange,
) -> PackedChannels | None:
    """Return the records of a layer; None if not all of its channels fit.

    Parameters
    ----------
    bias, multiplier, shift
        (channels) of int64.
    limits
        least and greatest output less its zero point.
    accumulators
        their range in each channel, bias included.
    """
    low, high = limits
    first = np.clip(rescaled_twice(accumulators.least, multiplier, shift), low, high)
    last = np.clip(rescaled_twice(accumulators.greatest, multiplier, shift), low, high)
    constant = first == last
    greatest = int(shift[~constant].max(initial=-31))
    # A factor of exactly 2**-k and a bias of the output times 2**k: the same output.
    exponent = min(max(-greatest, 0), 30 - int(np.abs(first).max()).bit_length())
    biases = np.where(constant, first << exponent, bias)
    multiplier = np.where(constant, 1 << 30, multiplier)
    shift = np.where(constant, 1 - exponent, shift)
    if shift.max() > 0 or not multiplier.all():
        return None
    bias_bits = int(np.abs(biases).max()).bit_length() + 1
    shift_bits = int(shift.max() - shift.min()).bit_length()
    factors = _Factors(multiplier, shift, constant, low, high, accumulators)
    for record_bits in _RECORD_BITS:
        mantissa_bits = min(record_bits - bias_bits - shift_bits, _MANTISSA_BITS)
        if mantissa_bits < _LEAST_MANTISSA_BITS:
            continue
        mantissa = _shorten(factors, mantissa_bits)
        if mantissa is not None:
            records = mantissa | (shift.max() - shift) << mantissa_bits
            records |= biases << (mantissa_bits + shift_bits)
            return PackedChannels(
                _words(records, record_bits),
                record_bits,
                mantissa_bits,
                shift_bits,
                int(shift.max()),
                biases,
                ((1 << mantissa_bits) | mantissa) << (_MANTISSA_BITS - mantissa_bits),
                shift,
                constant,
            )
    return None


def _words(records: np.ndarray, record_bits: int) -> tuple[np.ndarray, ...]:
    """The records as 16-bit words, and as bytes what is left."""
    words = np.stack([records >> 16 * i & 0xFFFF for i in range(3)], axis=1).astype(np.uint16)
    if record_bits == 48:
        return (words,)
    return words, (records >> 48 & 0xFF).astype(np.uint8)


@dataclass(frozen=True)
class _Factors:
    """The factors of a layer, and which outputs they lead to.

    Parameters
    ----------
    multiplier, shift, constant
        (channels); the output does not depend on the data if `constant`.
    low, high
        least and greatest output less its zero point.
    """

    multiplier: np.ndarray
    shift: np.ndarray
    constant: np.ndarray
    low: int
    high: int
    accumulators: AccumulatorRange

    def at_the_ends(self, multiplier: np.ndarray, channels: np.ndarray) -> np.ndarray:
        """The outputs of the least and the greatest accumulators of some channels, (2, channels),
        by these multipliers."""
        ends = np.stack([self.accumulators.least[channels], self.accumulators.greatest[channels]])
        outputs: np.ndarray = np.clip(
            rescaled_twice(ends, multiplier, self.shift[channels]), self.low, self.high
        )
        return outputs

    @cached_property
    def thresholds(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The least accumulator that gives at least each level, by bisection.

        Returns
        -------
        tuple[np.ndarray, np.ndarray, np.ndarray]
            thresholds, levels, is_level: (channels, levels); a level counts only where `is_level`:
            where some accumulators of the range give less and some at least as much.
        """
        factor, exponent = self.multiplier[:, None], self.shift[:, None]
        least, greatest = self.accumulators.least[:, None], self.accumulators.greatest[:, None]
        levels = np.arange(self.low + 1, self.high + 1)[None, :]
        is_level = (rescaled_twice(least, factor, exponent) < levels) & (
            rescaled_twice(greatest, factor, exponent) >= levels
        )
        # Where it is without rounding, if that is so: most steps are left out.
        about = np.ceil((levels - 0.5) * 2.0 ** (31 - exponent) / factor)
        below, above = (
            np.clip(about + margin, least, greatest).astype(np.int64) for margin in (-_NEAR, _NEAR)
        )
        below = np.where(rescaled_twice(below, factor, exponent) < levels, below, least)
        above = np.where(rescaled_twice(above, factor, exponent) >= levels, above, greatest)
        while ((above - below) > 1)[is_level].any():
            middle = (below + above) >> 1
            reached = rescaled_twice(middle, factor, exponent) >= levels
            above = np.where(reached, middle, above)
            below = np.where(reached, below, middle)
        return above, np.broadcast_to(levels, is_level.shape), is_level


def _shorten(factors: _Factors, mantissa_bits: int) -> np.ndarray | None:
    """What follows the highest bit of multipliers that give the same outputs; None if none does."""
    dropped = _MANTISSA_BITS - mantissa_bits
    one = 1 << mantissa_bits
    if dropped == 0:
        return factors.multiplier - one
    thresholds, levels, is_level = factors.thresholds
    nearest = (factors.multiplier + (1 << (dropped - 1))) >> dropped
    found = np.where(factors.constant, 0, -1)
    for offset in _NEARBY:
        left = np.flatnonzero(found < 0)
        if not left.size:
            break
        candidate = np.clip(nearest[left] + offset, one, 2 * one - 1)
        factor, shift = (candidate << dropped)[:, None], factors.shift[left, None]
        at = rescaled_twice(thresholds[left], factor, shift) >= levels[left]
        before = rescaled_twice(thresholds[left] - 1, factor, shift) < levels[left]
        same = ((at & before) | ~is_level[left]).all(axis=1)
        of_both = (factors.multiplier[left], candidate << dropped)
        ends, shortened = (factors.at_the_ends(each, left) for each in of_both)
        same &= (shortened == ends).all(axis=0)
        found[left[same]] = candidate[same] - one
    return found if (found >= 0).all() else None
