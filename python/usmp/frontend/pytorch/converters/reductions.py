"""Converters of reductions: sums, products, means and variances."""

from __future__ import annotations

import math
from collections.abc import Callable

from tvm import relax
from tvm.ir import Expr

from usmp.frontend.pytorch.converters.operator import Operator, cast, constant, converts, rank_of
from usmp.ops.emit import extents_of

Reduction = Callable[..., Expr]


def reduced_axes(operator: Operator) -> list[int]:
    """Return the reduced axes, counted from the start; all axes if the operator names none."""
    rank = rank_of(operator["self"])
    axes = operator.get("dim", None)
    if axes is None or axes == []:
        return list(range(rank))
    # PyTorch accepts axis -1 of a scalar, which has no axes to reduce.
    return [axis % rank for axis in ([axes] if isinstance(axes, int) else axes) if rank]


def reduced(operator: Operator, data: Expr, reduce: Reduction) -> Expr:
    """Return a reduction over the operator's axes; without axes, the data."""
    keepdim = operator.get("keepdim", False)
    axes = reduced_axes(operator)
    return reduce(data, axes, keepdims=keepdim) if axes else data


def _count(operator: Operator) -> int:
    """Return the number of elements that are reduced to one."""
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
    # Reduce int8, because Relax has no reduction of booleans.
    data = cast(operator.emit(cast(operator["self"], "bool")), "int8")
    return cast(operator.emit(reduced(operator, operator.emit(data), relax.op.max)), "bool")


@converts("var.correction")
def _variance(operator: Operator) -> Expr:
    return _mean_and_variance(operator)[1]


@converts("var_mean.correction")
def _variance_and_mean(operator: Operator) -> list[Expr]:
    mean, variance = _mean_and_variance(operator)
    axes = [] if operator["keepdim"] else reduced_axes(operator)
    return [variance, relax.op.squeeze(mean, axes) if axes else mean]


def _mean_and_variance(operator: Operator) -> tuple[Expr, Expr]:
    """Return the mean (all axes kept) and the variance, whose divisor is the count minus the
    correction; for a divisor of 0 the variance is infinite or NaN."""
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
