"""Logarithm of the softmax over the last axis of int8."""

from __future__ import annotations

from tvm import relax, te, tirx

from usmp.ops.emit import call_operator, shape_of
from usmp.ops.quantized.activation.activations import input_radius
from usmp.ops.quantized.activation.softmax import (
    DIFFERENCE_BITS,
    difference_factor,
    exponentials,
    greatest_of_rows,
    require_summable,
    sum_of_exponentials,
)
from usmp.ops.quantized.rescaling.fixed_point import apply_multiplier, int32, quantize_multiplier
from usmp.ops.quantized.rescaling.parameters import Quantization, require_output
from usmp.ops.records.reductions import LogSoftmax
from usmp.tir.intrinsics import LOGARITHM

_OUTPUT_BITS = 4
"""Integer bits of the output: a scale of 16/256."""


def log_softmax(
    builder: relax.BlockBuilder, data: relax.Expr, before: Quantization, after: Quantization
) -> relax.Expr:
    """Return x minus the logarithm of the sum of exp(x) in the row.

    Parameters
    ----------
    data
        (rows, depth) of int8.
    after
        int8 of scale 16/256 and zero point 127.

    Raises
    ------
    UnsupportedModelError
        another output, rows of 4096 elements or more, or a scale too small.
    """
    rows, depth = shape_of(data)
    require_output(after, 16 / 256, 127)
    require_summable(depth)
    factor = difference_factor(before.scale, 1.0)
    back = quantize_multiplier(2.0 ** (31 - factor.shift) / factor.multiplier)
    least = -input_radius(DIFFERENCE_BITS, factor.shift)
    shift = 31 - DIFFERENCE_BITS - _OUTPUT_BITS

    def compute(data: te.Tensor, table: te.Tensor) -> te.Tensor:
        greatest = greatest_of_rows(data)
        _, total = sum_of_exponentials(data, greatest, table)
        logarithm = te.compute(
            (rows,), lambda r: tirx.call_pure_extern("int32", LOGARITHM, total[r]), "logarithm"
        )

        def threshold(row: tirx.Expr) -> tirx.Expr:
            # Differences below the threshold overflow the fixed-point numbers.
            lowest = apply_multiplier(logarithm[row] + tirx.IntImm("int32", -(2**31)), back)
            return tirx.max(lowest, int32(least - 1))

        lower = te.compute((rows,), threshold, "threshold")

        def output(row: tirx.Expr, column: tirx.Expr) -> tirx.Expr:
            difference = data[row, column].astype("int32") - greatest[row].astype("int32")
            exact = apply_multiplier(difference, factor) - logarithm[row]
            # Ties go away from zero, because `exact` is never positive.
            rounded = (exact + int32((1 << (shift - 1)) - 1)) >> int32(shift)
            value = tirx.max(rounded + int32(127), int32(-128))
            return tirx.if_then_else(difference > lower[row], value, int32(-128)).astype("int8")

        return te.compute((rows, depth), output, "output")

    table = exponentials(before.scale, 1.0)
    record = LogSoftmax((before,), (after,))
    return call_operator(builder, "log_softmax", compute, [data, table], record=record)
