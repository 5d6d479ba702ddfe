"""Converter of vector norms."""

from __future__ import annotations

import math

from tvm import relax
from tvm.ir import Expr

from usmp.frontend.pytorch.converters.extremes import extreme
from usmp.frontend.pytorch.converters.operator import Operator, cast, constant, converts
from usmp.frontend.pytorch.converters.reductions import reduced


@converts("linalg_vector_norm.default")
def _vector_norm(operator: Operator) -> Expr:
    dtype, order = operator.dtype, operator["ord"]
    data = operator.emit(cast(operator["self"], dtype))
    if order == 2:
        squares = operator.emit(relax.op.multiply(data, data))
        return relax.op.sqrt(reduced(operator, squares, relax.op.sum))
    if order == 0:
        is_other = operator.emit(relax.op.not_equal(data, constant(0, dtype)))
        return reduced(operator, operator.emit(cast(is_other, dtype)), relax.op.sum)
    magnitudes = operator.emit(relax.op.abs(data))
    if math.isinf(order):
        return extreme(operator, magnitudes, is_largest=order > 0)
    if order == 1:
        return reduced(operator, magnitudes, relax.op.sum)
    powers = operator.emit(relax.op.power(magnitudes, constant(order, dtype)))
    return relax.op.power(reduced(operator, powers, relax.op.sum), constant(1 / order, dtype))
