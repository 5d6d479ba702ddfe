"""Operators on the channels of a filter bank: noise, gain and logarithm."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from tvm import relax, tirx

from usmp.ops.emit import shape_of
from usmp.ops.quantized.rescaling.fixed_point import int32
from usmp.ops.signal.bits import significant_bits, uint32, uint64
from usmp.ops.statements import Local, call_in_place, call_statements, loop
from usmp.tir.nodes import sequence

_SNR_BITS, _GAIN_OUTPUT_BITS = 12, 6
"""Fractional bits of the signal-to-noise ratio, and of the output of the gain control."""
GAIN_TABLE_SIZE = 4 * 32 - 6 + 3
"""Entries of the gain table: gains for a noise of 0, 1 and 2; then three coefficients and a gap for
each number of bits of the noise."""
_GAIN_POSITION_BITS = 10

_LOG_BITS, _SEGMENT_BITS = 16, 7
"""Fractional bits of logarithms; the logarithm of the number of segments of their table."""


@dataclass(frozen=True)
class Smoothing:
    """The smoothing of a noise estimate: estimate = old * (1 - a) + signal * a.

    Parameters
    ----------
    factors, complements
        a and 1 - a, for channels with even and with odd numbers, as fixed-point integers.
    floor
        least fraction of the signal that remains, as a fixed-point integer.
    scale_bits
        fractional bits of these integers.
    signal_bits
        fractional bits of the estimate.
    is_clamped
        whether the estimate is never above the signal.
    """

    factors: tuple[int, int]
    complements: tuple[int, int]
    floor: int
    scale_bits: int
    signal_bits: int
    is_clamped: bool


def spectral_subtraction(
    builder: relax.BlockBuilder, data: relax.Expr, estimate: relax.Expr, smoothing: Smoothing
) -> tuple[relax.Expr, relax.Expr]:
    """Return the channels without their noise, and the noise estimate, updated in place.

    Parameters
    ----------
    data, estimate
        (n) of uint32.
    """
    count = shape_of(data)[0]

    def body(estimate: tirx.Buffer, data: tirx.Buffer, output: tirx.Buffer) -> tirx.Stmt:
        def channel(index: tirx.Var) -> Iterator[tirx.Stmt]:
            is_odd = (index & int32(1)) == int32(1)

            def by_parity(pair: tuple[int, int]) -> tirx.Expr:
                even, odd = map(uint64, pair)
                return even if pair[0] == pair[1] else tirx.Select(is_odd, odd, even)

            signal, noise = Local.of("signal", "uint32"), Local.of("noise", "uint32")
            yield from signal.declared(data[index] << uint32(smoothing.signal_bits))
            followed = uint64(signal.get()) * by_parity(smoothing.factors)
            kept = uint64(estimate[index]) * by_parity(smoothing.complements)
            total = (followed + kept) >> uint64(smoothing.scale_bits)
            yield from noise.declared(total.astype("uint32"))
            if not smoothing.is_clamped:
                yield tirx.BufferStore(estimate, noise.get(), [index])
            yield noise.set(tirx.min(noise.get(), signal.get()))
            if smoothing.is_clamped:
                yield tirx.BufferStore(estimate, noise.get(), [index])
            least = uint64(data[index]) * uint64(smoothing.floor) >> uint64(smoothing.scale_bits)
            rest = (signal.get() - noise.get()) >> uint32(smoothing.signal_bits)
            result = tirx.max(rest, least.astype("uint32"))
            yield tirx.BufferStore(output, result, [index])

        return loop("channel", count, channel)

    new_estimate, result = call_in_place(
        builder,
        "spectral_subtraction",
        body,
        [("estimate", estimate), ("data", data)],
        overwritten=[0],
        written=[("output", data.ty)],
    )
    return result, new_estimate


def gain_control(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    noise: relax.Expr,
    table: relax.Expr,
    *,
    shift: int,
) -> relax.Expr:
    """Multiply each channel by a gain that depends on its noise: per-channel normalization.

    The gain is a polynomial of degree two between powers of two (Y. Wang et al., "Trainable
    frontend for robust and far-field keyword spotting", 2017).

    Parameters
    ----------
    data, noise
        (n) of uint32.
    table
        (`GAIN_TABLE_SIZE` or more) of int16.
    shift
        right shift of the product: 0 to 63 bits.
    """
    count = shape_of(data)[0]

    def body(
        data: tirx.Buffer, noise: tirx.Buffer, table: tirx.Buffer, output: tirx.Buffer
    ) -> tirx.Stmt:
        def channel(index: tirx.Var) -> Iterator[tirx.Stmt]:
            bits, gain = Local.of("bits", "int32"), Local.of("gain", "int16")
            yield from bits.declared(significant_bits(noise[index]))
            yield from gain.declared(_gain(noise[index], bits.get(), table))
            # The sign of a gain fills the upper bits, like in the reference kernel.
            factor = gain.get().astype("int32").astype("uint32")
            product = uint64(data[index]) * uint64(factor)
            ratio = Local.of("ratio", "uint32")
            yield from ratio.declared((product >> uint64(shift)).astype("uint32"))
            yield tirx.BufferStore(output, _shrunk(ratio.get()), [index])

        return loop("channel", count, channel)

    arguments = [("data", data), ("noise", noise), ("table", table)]
    written = [("output", relax.TensorType((count,), "uint32"))]
    (result,) = call_statements(builder, "gain_control", body, arguments, written)
    return result


def _gain(noise: tirx.Expr, bits: tirx.Expr, table: tirx.Buffer) -> tirx.Expr:
    """Interpolate the table at `noise`, a number of `bits` bits: int16."""
    first = tirx.max(bits * 4 - 6, int32(0))
    position = _aligned(noise, bits, _GAIN_POSITION_BITS + 1)
    position = (position & uint32((1 << _GAIN_POSITION_BITS) - 1)).astype("int32")
    square, slope, start = (table[first + at].astype("int32") for at in (2, 1, 0))
    bent = (square * position >> int32(5)) + (slope << int32(5))
    rounded = (bent * position + int32(1 << 14)) >> int32(15)
    value = (rounded + start).astype("int16")
    direct = table[tirx.min(noise, uint32(2)).astype("int32")]
    return tirx.if_then_else(noise <= uint32(2), direct, value)


def _aligned(value: tirx.Expr, bits: tirx.Expr, target: int) -> tirx.Expr:
    """Shift a uint32 of `bits` bits so that it has `target` bits."""
    left, right = (
        (amount & int32(31)).astype("uint32") for amount in (target - bits, bits - target)
    )
    return tirx.if_then_else(bits < int32(target), value << left, value >> right)


def _shrunk(ratio: tirx.Expr) -> tirx.Expr:
    """Return x * x / 4 if the signal-to-noise ratio x is below 2, else x - 1."""
    square = (ratio * ratio) >> uint32(2 + 2 * _SNR_BITS - _GAIN_OUTPUT_BITS)
    line = (ratio >> uint32(_SNR_BITS - _GAIN_OUTPUT_BITS)) - uint32(1 << _GAIN_OUTPUT_BITS)
    return tirx.Select(ratio < uint32(2 << _SNR_BITS), square, line)


def logarithm(builder: relax.BlockBuilder, data: relax.Expr, shift: int, scale: int) -> relax.Expr:
    """Return `scale` times the natural logarithm of each number shifted left by `shift`.

    Parameters
    ----------
    data
        (n) of uint32.
    shift
        0 to 31 bits; bits beyond 32 are lost.
    scale
        a uint32.

    Returns
    -------
    relax.Expr
        (n) of int16, saturated; 0 for numbers without a positive logarithm.
    """
    count = shape_of(data)[0]

    def body(data: tirx.Buffer, table: tirx.Buffer, output: tirx.Buffer) -> tirx.Stmt:
        def channel(index: tirx.Var) -> Iterator[tirx.Stmt]:
            scaled = Local.of("scaled", "uint32")
            yield from scaled.declared(data[index] << uint32(shift))
            positive = sequence(of_positive(scaled.get(), index))
            none = tirx.BufferStore(output, tirx.IntImm("int16", 0), [index])
            yield tirx.IfThenElse(scaled.get() > uint32(1), positive, none)

        def of_positive(value: tirx.Expr, index: tirx.Var) -> Iterator[tirx.Stmt]:
            bits, fraction = Local.of("bits", "int32"), Local.of("fraction", "int32")
            yield from bits.declared(significant_bits(value) - int32(1))
            power = uint32(1) << (bits.get() & int32(31)).astype("uint32")
            part = _aligned(value - power, bits.get(), _LOG_BITS)
            yield from fraction.declared(part.astype("int32"))
            whole = bits.get().astype("uint32") * uint32(1 << _LOG_BITS)
            result = _scaled_logarithm(whole + _corrected(fraction.get(), table), scale)
            limited = tirx.min(result, uint32(2**15 - 1)).astype("int16")
            yield tirx.BufferStore(output, limited, [index])

        return loop("channel", count, channel)

    arguments = [("data", data), ("table", _log_table())]
    written = [("output", relax.TensorType((count,), "int16"))]
    (result,) = call_statements(builder, "logarithm", body, arguments, written)
    return result


def _corrected(fraction: tirx.Expr, table: tirx.Buffer) -> tirx.Expr:
    """Return log2(1 + x): x plus the difference in a table, which is interpolated: uint32."""
    inner_bits = _LOG_BITS - _SEGMENT_BITS
    segment = fraction >> int32(inner_bits)
    position = fraction & int32((1 << inner_bits) - 1)
    low, high = (table[segment + at].astype("int32") for at in (0, 1))
    between = ((high - low) * position) >> int32(_LOG_BITS)
    parts = [part.astype("uint32") for part in (fraction, low, between)]
    return parts[0] + parts[1] + parts[2]


def _scaled_logarithm(log2: tirx.Expr, scale: int) -> tirx.Expr:
    """Rescale a binary to a natural logarithm, and by `scale`, rounding twice: uint32, wraps."""
    half, bits = 1 << (_LOG_BITS - 1), _LOG_BITS
    log_of_2 = round(math.log(2) * (1 << bits))
    natural = (uint64(log2) * uint64(log_of_2) + uint64(half)) >> uint64(bits)
    return (natural.astype("uint32") * uint32(scale) + uint32(half)) >> uint32(bits)


def _log_table() -> np.ndarray:
    """Return log2(1 + x) - x at the ends of the segments."""
    ends = [index / (1 << _SEGMENT_BITS) for index in range((1 << _SEGMENT_BITS) + 1)]
    return np.array([round((math.log2(1 + x) - x) * (1 << _LOG_BITS)) for x in ends], np.uint16)
