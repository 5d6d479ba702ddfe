"""Softmax over the last axis of int8: exponentials from a table, and one reciprocal a row."""

from __future__ import annotations

import numpy as np
from tvm import relax, te, tirx

from usmp.objects.errors import UnsupportedModelError
from usmp.relax.quantised import gemmlowp
from usmp.relax.quantised.activations import input_radius
from usmp.relax.quantised.emit import call_operator, shape_of
from usmp.relax.quantised.fixed_point import (
    leading_zeros,
    multiply,
    one_over_one_plus,
    quantize_multiplier,
    round_shift_right,
)
from usmp.relax.quantised.parameters import Quantisation, integer_limits, require_output

_DIFFERENCE_BITS = 5
"""Integer bits of the arguments of exp: above -32."""
_SUM_BITS = 12
"""Integer bits of the sum of a row's exponentials."""


def softmax(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    before: Quantisation,
    after: Quantisation,
    beta: float,
) -> relax.Expr:
    """exp(beta * x) over its sum in the row.

    Parameters
    ----------
    data: (rows, depth) of int8.
    after: int8 of scale 1/256 and zero point -128, or int16 of scale 1/65536 and -32768.

    Raises
    ------
    UnsupportedModelError: another output, rows of 4096 elements or more, or a scale too small.
    """
    rows, depth = shape_of(data)
    least, greatest = integer_limits(after.dtype)
    bits = np.iinfo(after.dtype).bits
    require_output(after, 2.0**-bits, least)
    if depth >= 1 << _SUM_BITS:
        raise UnsupportedModelError(
            f"a softmax of {depth} elements a row; at most {(1 << _SUM_BITS) - 1} are supported"
        )
    table = exponentials(before.scale, beta)

    def compute(data: te.Tensor, table: te.Tensor) -> te.Tensor:
        k, j = te.reduce_axis((0, depth), "k"), te.reduce_axis((0, depth), "j")
        greatest_of_row = te.compute((rows,), lambda r: te.max(data[r, k], k), "greatest")

        def exponential(row: tirx.Expr, column: tirx.Expr) -> tirx.Expr:
            value = data[row, column].astype("int32")
            below = greatest_of_row[row].astype("int32") - value
            taken = table[below]
            if int(table.shape[0]) == 256:
                return taken
            return tirx.if_then_else(below < table.shape[0], taken, _int32(0))

        def term(row: tirx.Expr) -> tirx.Expr:
            value = exponential(row, j)
            # To nearest; adding one half first could overflow.
            half = (value >> _int32(_SUM_BITS - 1)) & _int32(1)
            return (value >> _int32(_SUM_BITS)) + half

        total = te.compute((rows,), lambda r: te.sum(term(r), j), "total")
        zeros = te.compute((rows,), lambda r: leading_zeros(total[r]), "zeros")
        shift = te.compute((rows,), lambda r: zeros[r] - _int32(_SUM_BITS + 31 - bits), "shift")

        def reciprocal(row: tirx.Expr) -> tirx.Expr:
            fraction = (total[row] << zeros[row]) & _int32(gemmlowp.INT32_MAX)
            # All results are 0 where the shift is too far to be carried out.
            return tirx.Select(shift[row] >= _int32(-31), one_over_one_plus(fraction), _int32(0))

        scale = te.compute((rows,), reciprocal, "reciprocal")

        def output(row: tirx.Expr, column: tirx.Expr) -> tirx.Expr:
            right = tirx.max(shift[row], _int32(-31))
            share = multiply(exponential(row, column), scale[row], right)
            return tirx.min(share + _int32(least), _int32(greatest)).astype(after.dtype)

        return te.compute((rows, depth), output, "output")

    return call_operator(builder, "softmax", compute, [data, table])


def exponentials(scale: float, beta: float) -> np.ndarray:
    """exp(-beta * scale * d) in 31 fractional bits for d = 0, 1, ... until it counts no more.

    Raises
    ------
    UnsupportedModelError: `beta * scale` is too small.
    """
    factor = quantize_multiplier(min(beta * scale * 2.0 ** (31 - _DIFFERENCE_BITS), 2.0**31 - 1.0))
    if factor.shift < 0 or factor.multiplier == 0:
        raise UnsupportedModelError(
            f"a softmax of beta {beta} on an input of scale {scale}; more than 2**-26 is supported"
        )
    values = []
    for difference in range(min(input_radius(_DIFFERENCE_BITS, factor.shift), 255) + 1):
        value = gemmlowp.exp_on_negative(factor.apply(-difference), _DIFFERENCE_BITS)
        if round_shift_right(value, _SUM_BITS) == 0:
            break
        values.append(value)
    return np.array(values, np.int32)


def _int32(value: int) -> tirx.Expr:
    return tirx.IntImm("int32", value)
