"""Converters of the element-wise maximum and minimum of two tensors, which propagate NaN."""

from __future__ import annotations

from tvm.ir import Expr, GenericConst

from usmp.frontend.pytorch.converters.operator import Operator, cast, converts
from usmp.ops.real.order import extreme_of_two


@converts("maximum.default")
def _maximum(operator: Operator) -> Expr:
    return extreme_of_two(*_operands(operator), is_largest=True)


@converts("minimum.default")
def _minimum(operator: Operator) -> Expr:
    return extreme_of_two(*_operands(operator), is_largest=False)


def _operands(operator: Operator) -> tuple[Expr, Expr]:
    a, b = (cast(operator[name], operator.dtype) for name in ("self", "other"))
    return operator.emit(a), b if isinstance(b, GenericConst) else operator.emit(b)
