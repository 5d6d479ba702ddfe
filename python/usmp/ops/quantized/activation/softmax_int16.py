"""Softmax over the last axis of int16: exponentials and reciprocals interpolated in tables."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from tvm import relax, te, tirx

from usmp.ops.emit import call_operator, shape_of
from usmp.ops.quantized.activation.interpolation import STEPS, interpolate, interpolation_table
from usmp.ops.quantized.activation.softmax import greatest_of_rows
from usmp.ops.quantized.rescaling.fixed_point import (
    apply_multiplier,
    int32,
    leading_zeros,
    quantize_multiplier,
    shift_right,
)
from usmp.ops.quantized.rescaling.parameters import (
    Quantization,
    require_output,
    require_symmetric_input,
)
from usmp.ops.records.reductions import Softmax
from usmp.support.errors import UnsupportedModelError

_SCALE = np.float32(2) / np.float32(65535)
"""Scale of the values of both tables."""
_LARGEST_DEPTH = (2**31 - 1) // 32767


def softmax_int16(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    before: Quantization,
    after: Quantization,
    beta: float,
) -> relax.Expr:
    """Return exp(beta * x) over its sum in the row.

    Parameters
    ----------
    data
        (rows, depth) of int16 with zero point 0.
    after
        int16 of scale 1/32768 and zero point 0.

    Raises
    ------
    UnsupportedModelError
        other zero points or another output scale, or rows so long that a sum may leave int32.
    """
    rows, depth = shape_of(data)
    require_output(after, 1 / 32768, 0)
    require_symmetric_input(before)
    if depth > _LARGEST_DEPTH:
        raise UnsupportedModelError(
            f"a softmax of {depth} elements a row; at most {_LARGEST_DEPTH} are supported"
        )
    # Scale the argument of exp so that the integer -65535 means -10.
    factor = quantize_multiplier(before.scale * beta / (10.0 / 65535.0))

    def compute(data: te.Tensor, exponentials: te.Tensor, corrections: te.Tensor) -> te.Tensor:
        greatest = greatest_of_rows(data)
        j = te.reduce_axis((0, depth), "j")

        def exponentials_of_rows(name: str) -> Callable[..., tirx.Expr]:
            def argument(row: tirx.Expr, column: tirx.Expr) -> tirx.Expr:
                difference = data[row, column].astype("int32") - greatest[row].astype("int32")
                return _inside(apply_multiplier(difference, factor) + int32(32767))

            arguments = te.compute((rows, depth), argument, name)
            return lambda r, c: interpolate(
                arguments[r, c], lambda index: exponentials[index].astype("int32")
            )

        # Use two equal stages, so that each is computed at its only reader, element by element.
        summand = exponentials_of_rows("argument_of_summand")
        dividend = exponentials_of_rows("argument_of_dividend")
        total = te.compute((rows,), lambda r: te.sum(summand(r, j), j), "total")
        zeros = te.compute((rows,), lambda r: leading_zeros(total[r]), "zeros")

        def fraction(row: tirx.Expr) -> tirx.Expr:
            # The highest bit of the sum becomes bit 30, so that adding one half does not overflow.
            # Call `leading_zeros` again: a stage without a call would be recomputed at each reader.
            shift = leading_zeros(total[row]) - int32(1)
            normal = (total[row] << shift).astype("uint32")
            rounded = (normal + tirx.const(1 << 13, "uint32")) >> tirx.const(14, "uint32")
            return _inside(rounded.astype("int32") - int32(3 << 15))

        fractions = te.compute((rows,), fraction, "fraction")

        def reciprocal(row: tirx.Expr) -> tirx.Expr:
            return interpolate(fractions[row], lambda index: _reciprocal_at(index, corrections))

        scale = te.compute((rows,), reciprocal, "reciprocal")

        def output(row: tirx.Expr, column: tirx.Expr) -> tirx.Expr:
            right = int32(31) - zeros[row]
            half = int32(1) << (right - int32(1))
            share = shift_right(dividend(row, column) * scale[row] + half, right)
            return tirx.min(tirx.max(share, int32(0)), int32(32767)).astype("int16")

        return te.compute((rows, depth), output, "output")

    tables = [exponential_table(), reciprocal_corrections()]
    record = Softmax((before,), (after,), beta=float(beta))
    return call_operator(builder, "softmax", compute, [data, *tables], record=record)


def _inside(argument: tirx.Expr) -> tirx.Expr:
    """Clamp an argument to int16."""
    return tirx.min(tirx.max(argument, int32(-32768)), int32(32767))


def exponential_table() -> np.ndarray:
    """Return the interpolation table of exp from -10 to 0, with 15 fractional bits."""
    span = np.float32(65535)
    return interpolation_table(
        lambda x: np.float32(math.exp(float(x))), np.float32(10) / span, 32767, _SCALE
    )


def reciprocal_table() -> np.ndarray:
    """Return the interpolation table of 1 / (1 + x) from 0 to 1, with 15 fractional bits."""
    one = np.float32(1)
    return interpolation_table(lambda x: one / (one + x), one / np.float32(65535), -32768, _SCALE)


def reciprocal_corrections() -> np.ndarray:
    """Return `reciprocal_table` minus rounded quotients, which takes half of the table's bytes."""
    nearest = [_rounded_quotient(index) for index in range(STEPS + 1)]
    return np.array(reciprocal_table() - np.array(nearest), np.int8)


def _rounded_quotient(index: int) -> int:
    """Return 2**15 / (1 + index / STEPS), rounded to nearest."""
    denominator = STEPS + index
    return ((STEPS << 16) + denominator) // (2 * denominator)


def _reciprocal_at(index: tirx.Expr, corrections: te.Tensor) -> tirx.Expr:
    denominator = index + int32(STEPS)
    quotient = tirx.truncdiv(denominator + int32(STEPS << 16), denominator * int32(2))
    return quotient + corrections[index].astype("int32")
