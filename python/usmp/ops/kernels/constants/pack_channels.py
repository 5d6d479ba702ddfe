"""Bias and factor of each output channel in 48 or 56 bits, where that changes no output.

As plain arrays, a channel takes nine bytes: a bias of 32 bits, and a factor with a multiplier of 31
bits and a shift. Three observations reduce them to six or seven bytes:

- Biases are small: mostly 16 to 20 bits.
- A multiplier has its highest bit set, and the shifts of a layer differ by little.
- A sum of products has a known range, so low bits of the multiplier may not matter. A shorter one
  is used only if it gives the same output for each accumulator, proved at the output's thresholds.

If the weights of a channel are so small that its output does not depend on the data, the channel
may have any shift: its weights become zero, and its factor a power of two.

A record has, from the lowest bit: the mantissa, which is the multiplier without its highest bit;
the shift, as its distance from the layer's greatest; the bias.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from usmp.ops.quantized.rescaling.accumulators import AccumulatorRange
from usmp.ops.quantized.rescaling.rescaled_arrays import rescaled_twice

_RECORD_BITS = (48, 56)
_MANTISSA_BITS = 30
_LEAST_MANTISSA_BITS = 16
_NEARBY = (0, 1, -1, 2, -2, 3, -3, 4, -4)
"""Shorter multipliers to try, in order, as distances from the nearest shorter one."""
_NEAR = 8
"""Nearly all thresholds differ by at most this from real arithmetic, in accumulator units."""


@dataclass(frozen=True)
class PackedChannels:
    """The records of a layer, and their format.

    Parameters
    ----------
    records
        (channels, 3) of uint16, lowest bits first. Records of 56 bits also have (channels) of
        uint8, their highest bits.
    record_bits, mantissa_bits, shift_bits
        widths of a record and of its fields; the bias has the remaining bits.
    shift
        the layer's greatest shift.
    bias, multiplier, shifts
        (channels) of int64: the values in the records.
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
    """Return the records of a layer; None if a channel does not fit.

    Parameters
    ----------
    bias, multiplier, shift
        (channels) of int64.
    limits
        least and greatest output less its zero point.
    accumulators
        the range of the accumulators of each channel, with bias.
    """
    low, high = limits
    first = np.clip(rescaled_twice(accumulators.least, multiplier, shift), low, high)
    last = np.clip(rescaled_twice(accumulators.greatest, multiplier, shift), low, high)
    constant = first == last
    greatest = int(shift[~constant].max(initial=-31))
    # A constant output: a factor of exactly 2**-k, and a bias of the output times 2**k.
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
    """Split the records into 16-bit words, and bytes of any remaining bits."""
    words = np.stack([records >> 16 * i & 0xFFFF for i in range(3)], axis=1).astype(np.uint16)
    if record_bits == 48:
        return (words,)
    return words, (records >> 48 & 0xFF).astype(np.uint8)


@dataclass(frozen=True)
class _Factors:
    """The factors of a layer, and the outputs that they give.

    Parameters
    ----------
    multiplier, shift, constant
        (channels); where `constant`, the output does not depend on the data.
    low, high
        least and greatest output less its zero point.
    accumulators
        the range of the accumulators of each channel, with bias.
    """

    multiplier: np.ndarray
    shift: np.ndarray
    constant: np.ndarray
    low: int
    high: int
    accumulators: AccumulatorRange

    def at_the_ends(self, multiplier: np.ndarray, channels: np.ndarray) -> np.ndarray:
        """Return the outputs of the least and the greatest accumulators of some channels with these
        multipliers: (2, channels)."""
        ends = np.stack([self.accumulators.least[channels], self.accumulators.greatest[channels]])
        outputs: np.ndarray = np.clip(
            rescaled_twice(ends, multiplier, self.shift[channels]), self.low, self.high
        )
        return outputs

    @cached_property
    def thresholds(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The least accumulator whose output reaches each level, by bisection.

        Returns
        -------
        tuple[np.ndarray, np.ndarray, np.ndarray]
            thresholds, levels, is_level: (channels, levels). A threshold is valid only where
            `is_level`: some accumulators of the range give less than the level, others reach it.
        """
        factor, exponent = self.multiplier[:, None], self.shift[:, None]
        least, greatest = self.accumulators.least[:, None], self.accumulators.greatest[:, None]
        levels = np.arange(self.low + 1, self.high + 1)[None, :]
        is_level = (rescaled_twice(least, factor, exponent) < levels) & (
            rescaled_twice(greatest, factor, exponent) >= levels
        )
        # Begin near the real value of each threshold if the threshold lies there, to save steps.
        guess = np.ceil((levels - 0.5) * 2.0 ** (31 - exponent) / factor)
        below, above = (
            np.clip(guess + margin, least, greatest).astype(np.int64) for margin in (-_NEAR, _NEAR)
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
    """Return mantissas (channels) that give the same outputs as the full multipliers; None if a
    channel has none."""
    dropped = _MANTISSA_BITS - mantissa_bits
    one = 1 << mantissa_bits
    if dropped == 0:
        return factors.multiplier - one
    thresholds, levels, is_level = factors.thresholds
    nearest = (factors.multiplier + (1 << (dropped - 1))) >> dropped
    mantissas = np.where(factors.constant, 0, -1)
    for offset in _NEARBY:
        rest = np.flatnonzero(mantissas < 0)
        if not rest.size:
            break
        candidate = np.clip(nearest[rest] + offset, one, 2 * one - 1)
        factor, shift = (candidate << dropped)[:, None], factors.shift[rest, None]
        at = rescaled_twice(thresholds[rest], factor, shift) >= levels[rest]
        before = rescaled_twice(thresholds[rest] - 1, factor, shift) < levels[rest]
        same = ((at & before) | ~is_level[rest]).all(axis=1)
        multipliers = (factors.multiplier[rest], candidate << dropped)
        ends, shortened = (factors.at_the_ends(multiplier, rest) for multiplier in multipliers)
        same &= (shortened == ends).all(axis=0)
        mantissas[rest[same]] = candidate[same] - one
    return mantissas if (mantissas >= 0).all() else None
