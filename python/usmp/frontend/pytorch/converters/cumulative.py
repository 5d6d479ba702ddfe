"""Running sums and products."""

from __future__ import annotations

from collections.abc import Callable

from tvm import tirx
from tvm.ir import Expr

from usmp.frontend.pytorch.converters.operator import Operator, cast, converts
from usmp.ops.emit import shape_of
from usmp.ops.running import running


@converts("cumsum.default")
def _cumsum(operator: Operator) -> Expr:
    return _running(operator, lambda total, element: total + element, 0)


@converts("cumprod.default")
def _cumprod(operator: Operator) -> Expr:
    return _running(operator, lambda total, element: total * element, 1)


def _running(
    operator: Operator, combine: Callable[[tirx.Expr, tirx.Expr], tirx.Expr], start: int
) -> Expr:
    """Each element combined with those before it along the axis."""
    dtype = operator.dtype
    data = operator.emit(cast(operator["self"], dtype))
    if not shape_of(data):
        return data
    return running(operator.builder, data, int(operator["dim"]), combine, start)
