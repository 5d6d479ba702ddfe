"""Remainders and quotients that are rounded down."""

from __future__ import annotations

from typing import Literal

from tvm import relax
from tvm.ir import Expr

from usmp.ops.emit import dtype_of
from usmp.tir.dtypes import is_float


def floor_mod(
    builder: relax.BlockBuilder,
    dividend: Expr,
    divisor: Expr,
    *,
    sign_of_zero: Literal["dividend", "divisor"] = "dividend",
) -> Expr:
    """Return the remainder that has the sign of the divisor.

    For floats, it is computed from the exact remainder, because TVM's operator multiplies a rounded
    quotient by the divisor.

    Parameters
    ----------
    dividend, divisor
        operands of one type; integer divisors are not 0.
    sign_of_zero
        which operand gives a remainder of 0 its sign. PyTorch and TFLite take the dividend's,
        Python and ONNX since opset 28 the divisor's.
    """
    if not is_float(dtype_of(dividend)):
        return relax.op.floor_mod(dividend, divisor)
    remainder = builder.emit(relax.op.mod(dividend, divisor))
    floored = relax.op.where(
        _has_other_sign(remainder, divisor), relax.op.add(remainder, divisor), remainder
    )
    if sign_of_zero == "dividend":
        return floored
    zero, negative_zero = (relax.const(value, dtype_of(remainder)) for value in (0.0, -0.0))
    signed = relax.op.where(relax.op.less(divisor, zero), negative_zero, zero)
    return relax.op.where(relax.op.equal(remainder, zero), signed, floored)


def floor_divide(builder: relax.BlockBuilder, dividend: Expr, divisor: Expr) -> Expr:
    """Return the largest integer that is not above the exact quotient.

    For floats, `floor(a / b)` is too large where the quotient is rounded up to an integer, like
    1.0 / 0.1. Source: PyTorch, `div_floor_floating`.
    """
    dtype = dtype_of(dividend)
    if not is_float(dtype):
        return relax.op.floor_divide(dividend, divisor)
    zero, one = relax.const(0, dtype), relax.const(1, dtype)
    remainder = builder.emit(relax.op.mod(dividend, divisor))
    quotient = relax.op.divide(relax.op.subtract(dividend, remainder), divisor)
    other_sign = _has_other_sign(remainder, divisor)
    exact = builder.emit(relax.op.where(other_sign, relax.op.subtract(quotient, one), quotient))
    lower = builder.emit(relax.op.floor(exact))
    is_far = relax.op.greater(relax.op.subtract(exact, lower), relax.const(0.5, dtype))
    nearest = builder.emit(relax.op.where(is_far, relax.op.add(lower, one), lower))
    rounded = builder.emit(relax.op.divide(dividend, divisor))
    # A quotient of 0 has the sign of the rounded one, which is finite then.
    signed_zero = relax.op.multiply(rounded, zero)
    signed = relax.op.where(relax.op.equal(nearest, zero), signed_zero, nearest)
    return relax.op.where(relax.op.equal(divisor, zero), rounded, signed)


def _has_other_sign(remainder: Expr, divisor: Expr) -> Expr:
    """Return where a remainder is not 0 and has another sign than the divisor."""
    zero = relax.const(0, dtype_of(remainder))
    differ = relax.op.not_equal(relax.op.less(remainder, zero), relax.op.less(divisor, zero))
    return relax.op.logical_and(relax.op.not_equal(remainder, zero), differ)
