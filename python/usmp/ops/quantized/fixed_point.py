"""Fixed-point requantization as TFLite's reference kernels do it.

A real factor M is an integer `multiplier` in [2**30, 2**31) and a `shift`: M = multiplier *
2**(shift - 31). Multiplying by it rounds twice: first the high half of the doubled product to
nearest, then the right shift to nearest with ties away from zero (gemmlowp, "Quantization and
Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference", B. Jacob et al.,
2018, section 2.2). A single rounding differs in about one of a thousand results. ONNX Runtime
multiplies as floats do, and rounds the product to an integer (`Rounding.AS_FLOAT`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from tvm import tirx

from usmp.ops.rounding import Rounding as Rounding
from usmp.support.errors import UnsupportedModelError
from usmp.tir.intrinsics import (
    LEADING_ZEROS,
    MULTIPLY_BY_FLOAT,
    ONE_OVER_ONE_PLUS,
)

_SMALLEST_SHIFT, _LARGEST_SHIFT = -31, 30


@dataclass(frozen=True)
class QuantizedMultiplier:
    """The factor `multiplier * 2**(shift - 31)`."""

    multiplier: int
    shift: int

    @property
    def float32_bits(self) -> int | None:
        """The bits of the factor as a float32; None if it is none, or 0, or has another sign."""
        value = np.float32(self.multiplier * 2.0 ** (self.shift - 31))
        is_exact = float(value) == self.multiplier * 2.0 ** (self.shift - 31)
        return int(value.view(np.int32)) if self.multiplier > 0 and is_exact else None

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


def float_factor(numerators: Sequence[float], denominator: float) -> QuantizedMultiplier:
    """The product of some scales over another one as float32 gives it, one step after the other.

    ONNX Runtime's kernels multiply accumulators with it (MLAS, MlasRequantizeOutput). A factor so
    small that no accumulator leads to another integer than 0 is made the least one that there is.

    Raises
    ------
    UnsupportedModelError
        as `quantize_multiplier`.
    """
    with np.errstate(over="ignore", under="ignore"):
        product = np.float32(numerators[0])
        for numerator in numerators[1:]:
            product = np.float32(product * np.float32(numerator))
        ratio = float(np.float32(product / np.float32(denominator)))
    factor = quantize_multiplier(ratio)
    return factor if factor.multiplier else QuantizedMultiplier(2**30, _SMALLEST_SHIFT)


def factor_of(
    numerators: Sequence[float], denominator: float, rounding: Rounding
) -> QuantizedMultiplier:
    """The product of some scales over another number, as the rounding takes it.

    Raises
    ------
    UnsupportedModelError
        as `quantize_multiplier`.
    """
    if rounding is Rounding.AS_FLOAT:
        return float_factor(numerators, denominator)
    return quantize_multiplier(math.prod(numerators) / denominator)


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


def apply_multiplier(
    value: tirx.Expr, factor: QuantizedMultiplier, rounding: Rounding = Rounding.TWICE
) -> tirx.Expr:
    """`value` (int32) times a factor that is known at compile time."""
    return multiply(value, factor.multiplier, factor.shift, rounding)


def multiply_by_float(value: tirx.Expr, factor: tirx.Expr) -> tirx.Expr:
    """`value` (int32) times a factor whose bits as a float32 are given, rounded as AS_FLOAT does:
    int32."""
    return tirx.call_pure_extern("int32", MULTIPLY_BY_FLOAT, value, factor)


def centered(value: tirx.Expr, zero_point: int) -> tirx.Expr:
    """How far an integer is from its zero point: int32."""
    wide = value.astype("int32")
    return wide - tirx.IntImm("int32", zero_point) if zero_point else wide


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
