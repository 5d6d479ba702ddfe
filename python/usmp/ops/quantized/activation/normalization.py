"""Vectors of int8 divided by their length."""

from __future__ import annotations

from tvm import relax, te, tirx

from usmp.ops.emit import call_operator, shape_of
from usmp.ops.quantized.rescaling.fixed_point import centered, multiply
from usmp.ops.quantized.rescaling.parameters import Quantization, require_output
from usmp.ops.records.reductions import L2Normalize
from usmp.support.errors import UnsupportedModelError
from usmp.tir.intrinsics import INVERSE_SQUARE_ROOT, INVERSE_SQUARE_ROOT_SHIFT

_FRACTIONAL_BITS = 7
"""Fractional bits of the output, whose scale is 1/128."""


def l2_normalize(
    builder: relax.BlockBuilder, data: relax.Expr, before: Quantization, after: Quantization
) -> relax.Expr:
    """Divide each row by the square root of the sum of its squares.

    Parameters
    ----------
    data
        (rows, depth) of int8.
    after
        int8 of scale 1/128 and zero point 0.

    Raises
    ------
    UnsupportedModelError
        another output, or rows so long that their sum of squares may leave int32.
    """
    rows, depth = shape_of(data)
    require_output(after, 1 / 128, 0)
    if depth * 255**2 >= 2**31:
        raise UnsupportedModelError(
            f"rows of {depth} elements; at most {(2**31 - 1) // 255**2} are supported"
        )

    def compute(data: te.Tensor) -> te.Tensor:
        k = te.reduce_axis((0, depth), "k")

        def element(row: tirx.Expr, column: tirx.Expr) -> tirx.Expr:
            return centered(data[row, column], before.zero_point)

        total = te.compute((rows,), lambda r: te.sum(element(r, k) * element(r, k), k), "total")

        def of_total(name: str, function: str) -> te.Tensor:
            return te.compute(
                (rows,), lambda r: tirx.call_pure_extern("int32", function, total[r]), name
            )

        multiplier = of_total("multiplier", INVERSE_SQUARE_ROOT)
        shift = of_total("shift", INVERSE_SQUARE_ROOT_SHIFT)

        def output(row: tirx.Expr, column: tirx.Expr) -> tirx.Expr:
            left = shift[row] + tirx.IntImm("int32", _FRACTIONAL_BITS)
            return after.limits().clamp(multiply(element(row, column), multiplier[row], left))

        return te.compute((rows, depth), output, "output")

    record = L2Normalize((before,), (after,))
    return call_operator(builder, "l2_normalize", compute, [data], record=record)
