"""Converters of searches in sorted boundaries."""

from __future__ import annotations

from tvm.ir import Expr

from usmp.frontend.pytorch.converters.operator import Operator, cast, converts
from usmp.ops.emit import dtype_of
from usmp.ops.real.sorted_search import count_before


@converts("bucketize.Tensor")
def _bucketize(operator: Operator) -> Expr:
    return _places(operator, operator["boundaries"], operator["right"])


@converts("searchsorted.Tensor")
def _searchsorted(operator: Operator) -> Expr:
    if operator["sorter"] is not None:
        raise operator.refusal("with a sorter is not supported; sort the sequence before it")
    side = operator["side"]
    return _places(operator, operator["sorted_sequence"], operator["right"] or side == "right")


def _places(operator: Operator, boundaries: Expr, includes_equal: bool) -> Expr:
    """Return the number of sorted boundaries of the same row that come before each value."""
    data = operator["self"]
    if dtype_of(boundaries) != dtype_of(data):
        raise operator.refusal(
            f"of {dtype_of(data)} among {dtype_of(boundaries)} is not supported; convert one of "
            "them"
        )
    counted = count_before(operator.builder, boundaries, data, includes_equal=includes_equal)
    return cast(operator.emit(counted), operator.dtype)
