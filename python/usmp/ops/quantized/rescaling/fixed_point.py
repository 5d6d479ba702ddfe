"""Fixed-point requantization like TFLite's reference kernels.

A real factor M is an integer `multiplier` in [2**30, 2**31) and a `shift`: M = multiplier *
2**(shift - 31). Multiplying by it rounds twice: first the high half of the doubled product to
nearest, then the right shift to nearest with ties away from zero (gemmlowp, "Quantization and
Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference", B. Jacob et al.,
2018, section 2.2). A single rounding differs in about one of a thousand results. ONNX Runtime
multiplies as float32, and rounds the product to an integer (`Rounding.AS_FLOAT`).
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
        """The bits of the factor as a float32; None if it is not exactly a positive float32."""
        value = np.float32(self.multiplier * 2.0 ** (self.shift - 31))
        is_exact = float(value) == self.multiplier * 2.0 ** (self.shift - 31)
        return int(value.view(np.int32)) if self.multiplier > 0 and is_exact else None

    def apply(self, value: int) -> int:
        """Return a 32-bit integer: `value` times the factor, rounded like `multiply`."""
        shifted = wrap_int32(value << max(self.shift, 0))
        high = (shifted * self.multiplier + (1 << 30)) >> 31
        right = max(-self.shift, 0)
        return round_shift_right(high, right)


def round_shift_right(value: int, exponent: int) -> int:
    """Return `value / 2**exponent` to nearest, ties away from 0 (gemmlowp RoundingDivideByPOT)."""
    mask = (1 << exponent) - 1
    return (value >> exponent) + int((value & mask) > (mask >> 1) + (value < 0))


def wrap_int32(value: int) -> int:
    """Return the low 32 bits of `value` as a signed integer."""
    return (value + 2**31) % 2**32 - 2**31


def quantize_multiplier(real: float) -> QuantizedMultiplier:
    """Return the factor nearest to `real` (TFLite's QuantizeMultiplier).

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
    """Return the product of some scales over another scale; each step is rounded to float32.

    ONNX Runtime's kernels multiply accumulators by it (MLAS, MlasRequantizeOutput). A factor so
    small that each accumulator is rounded to 0 becomes the smallest factor.

    Raises
    ------
    UnsupportedModelError
        see `quantize_multiplier`.
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
    """Return the product of some scales over another number, as a factor for the rounding.

    Raises
    ------
    UnsupportedModelError
        see `quantize_multiplier`.
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
    """Multiply `value` (int32; int64 for ONCE_16_BITS) by the factor: int32.

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
    """Multiply `value` (int32) by a factor that is known at compile time."""
    return multiply(value, factor.multiplier, factor.shift, rounding)


def multiply_by_float(value: tirx.Expr, factor: tirx.Expr) -> tirx.Expr:
    """Multiply `value` (int32) by a factor, the bits of a float32, and round like AS_FLOAT:
    int32."""
    return tirx.call_pure_extern("int32", MULTIPLY_BY_FLOAT, value, factor)


def centered(value: tirx.Expr, zero_point: int) -> tirx.Expr:
    """Subtract the zero point from an integer: int32."""
    wide = value.astype("int32")
    return wide - tirx.IntImm("int32", zero_point) if zero_point else wide


def wrapping_add(left: tirx.Expr, right: tirx.Expr | int) -> tirx.Expr:
    """Return the sum of two int32, or of an int32 and a uint32, modulo 2**32: int32."""
    if isinstance(right, int):
        right = tirx.IntImm("uint32", right % 2**32)
    total = left.astype("uint32") + right.astype("uint32")
    # Reinterpret bits, because TVM concludes from a cast that the sum is not negative.
    return tirx.reinterpret("int32", total)


def shift_right(value: tirx.Expr, amount: tirx.Expr) -> tirx.Expr:
    """Shift `value` (int32) right by a computed amount from 0 to 31.

    TVM bounds the result by the bounds of the amount. Without these, it concludes wrong bounds and
    removes clamps that the result needs. The mask tells TVM the bounds of the amount.
    """
    return value >> (amount & int32(31))


def leading_zeros(value: tirx.Expr) -> tirx.Expr:
    """Return the number of leading zeros among the 32 bits of `value`: int32."""
    return tirx.call_pure_extern("int32", LEADING_ZEROS, value)


def one_over_one_plus(value: tirx.Expr) -> tirx.Expr:
    """Return 1 / (1 + value) for a number in [0, 1], both with 31 fractional bits: int32."""
    return tirx.call_pure_extern("int32", ONE_OVER_ONE_PLUS, value)


def or_zero(condition: tirx.Expr | None, value: tirx.Expr) -> tirx.Expr:
    """Return the value if the condition is true or None, else 0."""
    if condition is None:
        return value
    return tirx.if_then_else(condition, value, tirx.const(0, str(value.ty.dtype)))


def int32(value: tirx.Expr | int) -> tirx.Expr:
    """Return an int32 constant of a number, or a cast of an expression to int32."""
    return tirx.IntImm("int32", value) if isinstance(value, int) else value.astype("int32")
