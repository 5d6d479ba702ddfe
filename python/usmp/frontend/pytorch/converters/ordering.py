"""The larger and the smaller of two; what is not a number is neither, and comes out."""

from __future__ import annotations

from tvm import relax, tirx
from tvm.ir import Expr, GenericConst

from usmp.frontend.pytorch.converters.operator import Operator, cast, converts, dtype_of, is_float


def larger(a: Expr, b: Expr) -> Expr:
    """The larger of two tensors of one type, element by element."""
    if dtype_of(a) == "bool":
        return relax.op.logical_or(a, b)
    return _chosen(a, b, relax.op.less(a, b)) if is_float(dtype_of(a)) else relax.op.maximum(a, b)


def smaller(a: Expr, b: Expr) -> Expr:
    """The smaller of two tensors of one type, element by element."""
    if dtype_of(a) == "bool":
        return relax.op.logical_and(a, b)
    return (
        _chosen(a, b, relax.op.greater(a, b)) if is_float(dtype_of(a)) else relax.op.minimum(a, b)
    )


def _chosen(a: Expr, b: Expr, is_b: Expr) -> Expr:
    """`b` where it is chosen, or not a number; no comparison with such an `a` chooses `b`."""
    if isinstance(b, GenericConst) and (b.value.numpy() == b.value.numpy()).all():
        return relax.op.where(is_b, b, a)
    return relax.op.where(relax.op.isnan(b), b, relax.op.where(is_b, b, a))


def larger_element(a: tirx.Expr, b: tirx.Expr) -> tirx.Expr:
    """The larger of two elements of one type."""
    return _chosen_element(a, b, a > b)


def smaller_element(a: tirx.Expr, b: tirx.Expr) -> tirx.Expr:
    """The smaller of two elements of one type."""
    return _chosen_element(a, b, a < b)


def _chosen_element(a: tirx.Expr, b: tirx.Expr, is_a: tirx.Expr) -> tirx.Expr:
    if is_float(str(a.ty.dtype)):
        is_a = tirx.Or(is_a, tirx.isnan(a))
    return tirx.Select(is_a, a, b)


@converts("maximum.default")
def _maximum(operator: Operator) -> Expr:
    return larger(*_operands(operator))


@converts("minimum.default")
def _minimum(operator: Operator) -> Expr:
    return smaller(*_operands(operator))


def _operands(operator: Operator) -> tuple[Expr, Expr]:
    a, b = (cast(operator[name], operator.dtype) for name in ("self", "other"))
    return operator.emit(a), b if isinstance(b, GenericConst) else operator.emit(b)
