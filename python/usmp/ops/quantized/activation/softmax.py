"""Softmax over the last axis of 8-bit integers: a table of exponentials, one reciprocal a row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from tvm import relax, te, tirx

from usmp.ops.emit import call_operator, shape_of
from usmp.ops.quantized.activation.activations import input_radius
from usmp.ops.quantized.rescaling import gemmlowp
from usmp.ops.quantized.rescaling.fixed_point import (
    QuantizedMultiplier,
    int32,
    leading_zeros,
    multiply,
    one_over_one_plus,
    quantize_multiplier,
    round_shift_right,
)
from usmp.ops.quantized.rescaling.parameters import Quantization, integer_limits, require_output
from usmp.ops.records.reductions import Softmax
from usmp.support.errors import UnsupportedModelError

DIFFERENCE_BITS = 5
"""Integer bits of the arguments of exp, which are above -32."""
_SUM_BITS = 12
"""Integer bits of the sum of a row's exponentials."""


def softmax(
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
        (rows, depth) of int8 or uint8.
    after
        scale 1/256 (int8, uint8) or 1/65536 (int16); the zero point is the least integer.

    Raises
    ------
    UnsupportedModelError
        another output, rows of 4096 elements or more, or a scale too small.
    """
    rows, depth = shape_of(data)
    least, greatest = integer_limits(after.dtype)
    bits = np.iinfo(after.dtype).bits
    require_output(after, 2.0**-bits, least)
    require_summable(depth)

    def compute(data: te.Tensor, table: te.Tensor) -> te.Tensor:
        exponential, total = sum_of_exponentials(data, greatest_of_rows(data), table)
        zeros = te.compute((rows,), lambda r: leading_zeros(total[r]), "zeros")
        shift = te.compute((rows,), lambda r: zeros[r] - int32(_SUM_BITS + 31 - bits), "shift")

        def reciprocal(row: tirx.Expr) -> tirx.Expr:
            # The mask changes nothing, because `zeros` is 32 only for a total of 0.
            fraction = (total[row] << (zeros[row] & int32(31))) & int32(gemmlowp.INT32_MAX)
            # All results are 0 if the right shift exceeds 31, which C does not define.
            return tirx.Select(shift[row] >= int32(-31), one_over_one_plus(fraction), int32(0))

        scale = te.compute((rows,), reciprocal, "reciprocal")

        def output(row: tirx.Expr, column: tirx.Expr) -> tirx.Expr:
            right = tirx.max(shift[row], int32(-31))
            share = multiply(exponential(row, column), scale[row], right)
            return tirx.min(share + int32(least), int32(greatest)).astype(after.dtype)

        return te.compute((rows, depth), output, "output")

    record = Softmax((before,), (after,), beta=float(beta))
    table = exponentials(before.scale, beta)
    return call_operator(builder, "softmax", compute, [data, table], record=record)


def greatest_of_rows(data: te.Tensor) -> te.Tensor:
    """Return the greatest element of each row."""
    rows, depth = (int(extent) for extent in data.shape)
    k = te.reduce_axis((0, depth), "k")
    return te.compute((rows,), lambda r: te.max(data[r, k], k), "greatest")


def sum_of_exponentials(
    data: te.Tensor, greatest: te.Tensor, table: te.Tensor
) -> tuple[Callable[[tirx.Expr, tirx.Expr], tirx.Expr], te.Tensor]:
    """Return exp of the difference to the row's greatest element, by `table`, and the row sums.

    Returns
    -------
    tuple[Callable[[tirx.Expr, tirx.Expr], tirx.Expr], te.Tensor]
        A function of row and column, with 31 fractional bits; a tensor of sums, with 19.
    """
    rows, depth = (int(extent) for extent in data.shape)
    j = te.reduce_axis((0, depth), "j")

    def exponential(row: tirx.Expr, column: tirx.Expr) -> tirx.Expr:
        below = greatest[row].astype("int32") - data[row, column].astype("int32")
        if int(table.shape[0]) == 256:
            return table[below]
        return tirx.if_then_else(below < table.shape[0], table[below], int32(0))

    def term(row: tirx.Expr) -> tirx.Expr:
        value = exponential(row, j)
        # Round to nearest after the shift, because adding one half before it could overflow.
        half = (value >> int32(_SUM_BITS - 1)) & int32(1)
        return (value >> int32(_SUM_BITS)) + half

    return exponential, te.compute((rows,), lambda r: te.sum(term(r), j), "total")


def require_summable(depth: int) -> None:
    """Check that a row of this length can be summed.

    Raises
    ------
    UnsupportedModelError
        the sum may leave int32.
    """
    if depth >= 1 << _SUM_BITS:
        raise UnsupportedModelError(
            f"a softmax of {depth} elements a row; at most {(1 << _SUM_BITS) - 1} are supported"
        )


def exponentials(scale: float, beta: float) -> np.ndarray:
    """Return exp(-beta * scale * d) with 31 fractional bits for d = 0, 1, ... until sums ignore it.

    Raises
    ------
    UnsupportedModelError
        `beta * scale` is too small.
    """
    factor = difference_factor(scale, beta)
    values = []
    for difference in range(min(input_radius(DIFFERENCE_BITS, factor.shift), 255) + 1):
        value = gemmlowp.exp_on_negative(factor.apply(-difference), DIFFERENCE_BITS)
        if round_shift_right(value, _SUM_BITS) == 0:
            break
        values.append(value)
    return np.array(values, np.int32)


def difference_factor(scale: float, beta: float) -> QuantizedMultiplier:
    """Return the factor from differences of integers to numbers with 26 fractional bits.

    Raises
    ------
    UnsupportedModelError
        `beta * scale` is too small.
    """
    # From 2**30 on, only the greatest element contributes.
    factor = quantize_multiplier(min(beta * scale * 2.0 ** (31 - DIFFERENCE_BITS), 2.0**30 - 1.0))
    if factor.shift < 0 or factor.multiplier == 0:
        raise UnsupportedModelError(
            f"a softmax of beta {beta} on an input of scale {scale}; more than 2**-26 is supported"
        )
    return factor
