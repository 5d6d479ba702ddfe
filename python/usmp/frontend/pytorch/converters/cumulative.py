"""Converters of running sums, products and extremes."""

from __future__ import annotations

import math
from collections.abc import Callable

from tvm import relax, tirx
from tvm.ir import Expr

from usmp.frontend.pytorch.converters.operator import Operator, cast, converts
from usmp.ops.emit import shape_of
from usmp.ops.real.order import extreme_element
from usmp.ops.real.running import running
from usmp.ops.real.running_extreme import running_extreme
from usmp.tir.dtypes import is_float


@converts("cumsum.default")
def _cumsum(operator: Operator) -> Expr:
    return _running(operator, lambda total, element: total + element, 0)


@converts("cumprod.default")
def _cumprod(operator: Operator) -> Expr:
    return _running(operator, lambda total, element: total * element, 1)


def _running(
    operator: Operator, combine: Callable[[tirx.Expr, tirx.Expr], tirx.Expr], start: int
) -> Expr:
    """Return a prefix reduction along the axis."""
    dtype = operator.dtype
    data = operator.emit(cast(operator["self"], dtype))
    if not shape_of(data):
        return data
    return running(operator.builder, data, int(operator["dim"]), combine, start)


@converts("logcumsumexp.default")
def _logcumsumexp(operator: Operator) -> Expr:
    """Convert `logcumsumexp`: logarithms of running sums of exponentials, added as in PyTorch."""
    data, dtype = operator["self"], operator.dtype
    if not is_float(dtype):
        raise operator.refusal(f"of {dtype} is not supported; convert it to float32")
    if not shape_of(data):
        return data
    infinity = tirx.FloatImm(dtype, math.inf)

    def combine(total: tirx.Expr, element: tirx.Expr) -> tirx.Expr:
        least, most = (extreme_element(total, element, largest) for largest in (False, True))
        # Skip the formula for two equal infinities, whose difference is NaN.
        is_number = tirx.any(least != most, tirx.And(least < infinity, least > -infinity))
        return tirx.Select(is_number, tirx.log1p(tirx.exp(least - most)) + most, element)

    return running(operator.builder, data, int(operator["dim"]), combine, -infinity)


@converts("cummax.default")
def _cummax(operator: Operator) -> list[Expr]:
    return _running_extreme(operator, is_largest=True)


@converts("cummin.default")
def _cummin(operator: Operator) -> list[Expr]:
    return _running_extreme(operator, is_largest=False)


def _running_extreme(operator: Operator, is_largest: bool) -> list[Expr]:
    """Return the running maximum or minimum, and the position of its last occurrence. From the
    first NaN on, the extreme is NaN."""
    data, dtype = operator["self"], operator.dtype
    shape = shape_of(data)
    if not shape:
        return [data, relax.const(0, "int64")]
    ordered = operator.emit(cast(data, "int8")) if dtype == "bool" else data
    extremes, places = running_extreme(
        operator.builder, ordered, int(operator["dim"]), is_largest=is_largest
    )
    return [cast(extremes, dtype), places]
