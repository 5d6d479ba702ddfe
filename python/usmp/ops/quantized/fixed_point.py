"""Fixed-point requantization as TFLite's reference kernels do it.

A real factor M is an integer `multiplier` in [2**30, 2**31) and a `shift`: M = multiplier *
2**(shift - 31). Multiplying by it rounds twice: first the high half of the doubled product to
nearest, then the right shift to nearest with ties away from zero (gemmlowp, "Quantization and
Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference", B. Jacob et al.,
2018, section 2.2). A single rounding differs in about one of a thousand results.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from tvm import tirx

from usmp.support.errors import UnsupportedModelError
from usmp.tir.intrinsics import (
    LEADING_ZEROS,
    MULTIPLY_BY_QUANTIZED_MULTIPLIER,
    MULTIPLY_BY_QUANTIZED_MULTIPLIER_64,
    MULTIPLY_BY_QUANTIZED_MULTIPLIER_SINGLE_ROUNDING,
    ONE_OVER_ONE_PLUS,
)

_SMALLEST_SHIFT, _LARGEST_SHIFT = -31, 30
_SHIFTS_OF_64_BITS = 8


@dataclass(frozen=True)
class QuantizedMultiplier:
    """The factor `multiplier * 2**(shift - 31)`."""

    multiplier: int
    shift: int

    def apply(self, value: int) -> int:
        """`value` times the factor, a 32-bit integer, rounded as `multiply` does."""
        shifted = wrap_int32(value << max(self.shift, 0))
        high = (shifted * self.multiplier + (1 << 30)) >> 31
        right = max(-self.shift, 0)
        return round_shift_right(high, right)


def round_shift_right(value: int, exponent: int) -> int:
    """`value / 2**exponent` to nearest, ties away from zero (gemmlowp's RoundingDivideByPOT)."""
    mask = (1 << exponent) - 1
    return (value >> exponent) + int((value & mask) > (mask >> 1) + (value < 0))


def wrap_int32(value: int) -> int:
    """The low 32 bits of `value`, with a sign."""
    return (value + 2**31) % 2**32 - 2**31


def quantize_multiplier(real: float) -> QuantizedMultiplier:
    """The factor nearest to `real` (TFLite's QuantizeMultiplier).

    Raises
    ------
    UnsupportedModelError
        `real` is negative, not finite or 2**30 and more.
    """
    if not (math.isfinite(real) and real >= 0):
        raise UnsupportedModelError(f"the ratio of the quantization scales is {real}")
    if real == 0:
        return QuantizedMultiplier(0, 0)
    mantissa, shift = math.frexp(real)
    multiplier = math.floor(mantissa * 2**31 + 0.5)
    if multiplier == 2**31:
        multiplier //= 2
        shift += 1
    if shift < _SMALLEST_SHIFT:
        return QuantizedMultiplier(0, 0)
    if shift > _LARGEST_SHIFT:
        raise UnsupportedModelError(
            f"the ratio of the quantization scales is {real}; less than 2**{_LARGEST_SHIFT} "
            "is supported"
        )
    return QuantizedMultiplier(multiplier, shift)


class Rounding(Enum):
    """How `multiply` rounds, by what the reference kernels use it for."""

    TWICE = MULTIPLY_BY_QUANTIZED_MULTIPLIER
    """Accumulators of 32 bits."""
    ONCE = MULTIPLY_BY_QUANTIZED_MULTIPLIER_SINGLE_ROUNDING
    """Fully connected operators on uint8."""
    ONCE_16_BITS = MULTIPLY_BY_QUANTIZED_MULTIPLIER_64
    """Accumulators of 64 bits: with the upper 16 bits of the multiplier."""

    @property
    def accumulator(self) -> str:
        """The type of the accumulators."""
        return "int64" if self is Rounding.ONCE_16_BITS else "int32"

    def check(self, shift: int) -> None:
        """Check that a factor may have this shift.

        Raises
        ------
        UnsupportedModelError
            it may not; the reference kernels assert the same.
        """
        if self is Rounding.ONCE_16_BITS and shift >= _SHIFTS_OF_64_BITS:
            raise UnsupportedModelError(
                "the ratio of the quantization scales is too great for accumulators of 64 bits: "
                f"2**{shift - 1} or more; less than 2**{_SHIFTS_OF_64_BITS - 1} is supported"
            )


def multiply(
    value: tirx.Expr,
    multiplier: tirx.Expr | int,
    shift: tirx.Expr | int,
    rounding: Rounding = Rounding.TWICE,
) -> tirx.Expr:
    """`value` (int32; int64 for ONCE_16_BITS) times the factor: int32.

    Raises
    ------
    UnsupportedModelError
        the shift is too great for the rounding.
    """
    if isinstance(shift, int):
        rounding.check(shift)
    return tirx.call_pure_extern("int32", rounding.value, value, int32(multiplier), int32(shift))


def apply_multiplier(value: tirx.Expr, factor: QuantizedMultiplier) -> tirx.Expr:
    """`value` (int32) times a factor that is known at compile time."""
    return multiply(value, factor.multiplier, factor.shift)


def wrapping_add(left: tirx.Expr, right: tirx.Expr | int) -> tirx.Expr:
    """The sum of two int32, or of an int32 and a uint32, modulo 2**32: int32."""
    if isinstance(right, int):
        right = tirx.IntImm("uint32", right % 2**32)
    total = left.astype("uint32") + right.astype("uint32")
    # From a cast, TVM concludes that the sum is not negative; of bits it knows nothing.
    return tirx.reinterpret("int32", total)


def shift_right(value: tirx.Expr, amount: tirx.Expr) -> tirx.Expr:
    """`value` (int32) shifted right by a computed amount from 0 to 31.

    TVM takes the extremes of a shift from those of the amount. Where it does not know these, what
    it concludes is wrong, and it leaves out limits that the result needs.
    """
    return value >> (amount & int32(31))


def leading_zeros(value: tirx.Expr) -> tirx.Expr:
    """How many of the 32 bits above the first one of `value` are zero: int32."""
    return tirx.call_pure_extern("int32", LEADING_ZEROS, value)


def one_over_one_plus(value: tirx.Expr) -> tirx.Expr:
    """1 / (1 + value) for a number of [0, 1], both in 31 fractional bits: int32."""
    return tirx.call_pure_extern("int32", ONE_OVER_ONE_PLUS, value)


def int32(value: tirx.Expr | int) -> tirx.Expr:
    """A constant, or an expression in this type."""
    return tirx.IntImm("int32", value) if isinstance(value, int) else value.astype("int32")
