"""Where values belong among sorted ones."""

from __future__ import annotations

from tvm import te, tirx
from tvm.ir import Expr

from usmp.frontend.pytorch.converters.operator import Operator, cast, converts, dtype_of, is_float
from usmp.ops.emit import call_operator, shape_of


@converts("bucketize.Tensor")
def _bucketize(operator: Operator) -> Expr:
    return _places(operator, operator["boundaries"], operator["right"])


@converts("searchsorted.Tensor")
def _searchsorted(operator: Operator) -> Expr:
    if operator["sorter"] is not None:
        raise operator.refusal("with a sorter is not supported; sort the sequence before it")
    side = operator["side"]
    return _places(operator, operator["sorted_sequence"], operator["right"] or side == "right")


def _places(operator: Operator, boundaries: Expr, is_after_equal: bool) -> Expr:
    """How many of the sorted boundaries in the same row come before each value; what is not a
    number comes after all."""
    data = operator["self"]
    row, shape = shape_of(boundaries), shape_of(data)
    if dtype_of(boundaries) != dtype_of(data):
        raise operator.refusal(
            f"of {dtype_of(data)} among {dtype_of(boundaries)} is not supported; convert one of "
            "them"
        )

    def compute(boundaries: te.Tensor, values: te.Tensor) -> te.Tensor:
        step = te.reduce_axis((0, row[-1]), "step")

        def element(*at: tirx.Var) -> tirx.Expr:
            boundary = boundaries[(*(at[:-1] if len(row) > 1 else ()), step)]
            value = values[tuple(at)]
            is_before = boundary <= value if is_after_equal else boundary < value
            if is_float(dtype_of(data)):
                is_before = tirx.Or(is_before, tirx.isnan(value))
            return te.sum(tirx.Cast("int64", is_before), step)

        return te.compute(shape, element, "output")

    counted = call_operator(operator.builder, "count_before", compute, [boundaries, data])
    return cast(operator.emit(counted), operator.dtype)
