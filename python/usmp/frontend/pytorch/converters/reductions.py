"""Sums, products, means and the like over axes."""

from __future__ import annotations

import math
from collections.abc import Callable

from tvm import relax
from tvm.ir import Expr

from usmp.frontend.pytorch.converters.operator import Operator, cast, constant, converts, rank_of
from usmp.ops.emit import extents_of

Reduction = Callable[..., Expr]


def reduced_axes(operator: Operator) -> list[int]:
    """Those that the operator names, counted from the start; all if it names none."""
    rank = rank_of(operator["self"])
    given = operator.get("dim", None)
    if given is None or given == []:
        return list(range(rank))
    # A tensor without axes has a last one all the same.
    return [axis % rank for axis in ([given] if isinstance(given, int) else given) if rank]


def reduced(operator: Operator, data: Expr, reduce: Reduction) -> Expr:
    """A reduction over the operator's axes; without any, a tensor is its own."""
    keepdim = operator.get("keepdim", False)
    axes = reduced_axes(operator)
    return reduce(data, axes, keepdims=keepdim) if axes else data


def _count(operator: Operator) -> int:
    """How many elements one of the result is made of."""
    shape = extents_of(operator["self"])
    extents = [shape[axis] for axis in reduced_axes(operator)]
    if not all(isinstance(extent, int) for extent in extents):
        raise operator.refusal(
            "is not supported over an axis whose size only the run knows; export the model with "
            "fixed input shapes"
        )
    return math.prod(extents)


@converts("sum.dim_IntList")
def _sum(operator: Operator) -> Expr:
    return reduced(operator, operator.emit(cast(operator["self"], operator.dtype)), relax.op.sum)


@converts("mean.default", "mean.dim")
def _mean(operator: Operator) -> Expr:
    return reduced(operator, operator.emit(cast(operator["self"], operator.dtype)), relax.op.mean)


@converts("prod.default", "prod.dim_int")
def _prod(operator: Operator) -> Expr:
    return reduced(operator, operator.emit(cast(operator["self"], operator.dtype)), relax.op.prod)


@converts("any.default", "any.dim", "any.dims")
def _any(operator: Operator) -> Expr:
    # Relax has no reduction of booleans.
    data = cast(operator.emit(cast(operator["self"], "bool")), "int8")
    return cast(operator.emit(reduced(operator, operator.emit(data), relax.op.max)), "bool")


@converts("var.correction")
def _variance(operator: Operator) -> Expr:
    return _deviations(operator)[1]


@converts("var_mean.correction")
def _variance_and_mean(operator: Operator) -> list[Expr]:
    mean, variance = _deviations(operator)
    axes = [] if operator["keepdim"] else reduced_axes(operator)
    return [variance, relax.op.squeeze(mean, axes) if axes else mean]


def _deviations(operator: Operator) -> tuple[Expr, Expr]:
    """The mean, with all axes, and the sum of squares around it, over one less than their count or
    what else is wanted; over nothing, it is infinite or not a number."""
    data, axes = operator["self"], reduced_axes(operator)
    correction = 1 if operator["correction"] is None else operator["correction"]
    mean = operator.emit(relax.op.mean(data, axes, keepdims=True)) if axes else data
    difference = operator.emit(relax.op.subtract(data, mean))
    squares = operator.emit(relax.op.multiply(difference, difference))
    total = operator.emit(reduced(operator, squares, relax.op.sum))
    divisor = max(0.0, _count(operator) - correction)
    if divisor:
        return mean, relax.op.divide(total, constant(divisor, operator.dtype))
    return mean, relax.op.multiply(total, constant(math.inf, operator.dtype))
