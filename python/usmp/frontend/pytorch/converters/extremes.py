"""Converters of maxima and minima over axes, and of the positions of their first occurrence.

As in PyTorch, NaN is taken as both the maximum and the minimum.
"""

from __future__ import annotations

import math

from tvm import relax
from tvm.ir import Expr

from usmp.frontend.pytorch.converters.operator import Operator, cast, converts
from usmp.frontend.pytorch.converters.reductions import reduced_axes
from usmp.ops.emit import dtype_of, shape_of
from usmp.ops.real import extremes
from usmp.tir.dtypes import is_float


@converts("amax.default", "max.default")
def _amax(operator: Operator) -> Expr:
    return _extreme(operator, is_largest=True)


@converts("amin.default", "min.default")
def _amin(operator: Operator) -> Expr:
    return _extreme(operator, is_largest=False)


@converts("max.dim")
def _max_and_place(operator: Operator) -> list[Expr]:
    return [_extreme(operator, is_largest=True), _position(operator, is_largest=True)]


@converts("min.dim")
def _min_and_place(operator: Operator) -> list[Expr]:
    return [_extreme(operator, is_largest=False), _position(operator, is_largest=False)]


@converts("argmax.default")
def _argmax(operator: Operator) -> Expr:
    return _position(operator, is_largest=True)


@converts("argmin.default")
def _argmin(operator: Operator) -> Expr:
    return _position(operator, is_largest=False)


def _extreme(operator: Operator, is_largest: bool) -> Expr:
    if not reduced_axes(operator):
        return operator["self"]
    return extreme(operator, _ordered(operator), is_largest)


def extreme(operator: Operator, data: Expr, is_largest: bool) -> Expr:
    """Return the maximum or minimum of the data, in an ordered type, over the operator's axes."""
    axes, keepdim = reduced_axes(operator), operator.get("keepdim", False)
    if not axes:
        return data
    if not is_float(dtype_of(data)):
        reduce = relax.op.max if is_largest else relax.op.min
        return cast(operator.emit(reduce(data, axes, keepdims=keepdim)), operator.dtype)
    return extremes.extreme(
        operator.builder,
        data,
        axes,
        is_largest=is_largest,
        keeps_axes=keepdim,
        propagates_nan=True,
    )


def _position(operator: Operator, is_largest: bool) -> Expr:
    """Return the index of the extreme along the axis, or in the flattened tensor."""
    data, axes = _ordered(operator), reduced_axes(operator)
    if not axes:
        return relax.op.full(shape_of(data), relax.const(0, "int64"), "int64")
    of_all, keepdim = operator["dim"] is None, bool(operator.get("keepdim", False))
    if of_all:
        data = operator.emit(relax.op.reshape(data, (math.prod(shape_of(data)),)))
    place = extremes.first_extreme(
        operator.builder,
        data,
        0 if of_all else axes[0],
        "int64",
        is_largest=is_largest,
        keeps_axis=keepdim and not of_all,
        nan="first",
    )
    return relax.op.expand_dims(operator.emit(place), axes) if of_all and keepdim else place


def _ordered(operator: Operator) -> Expr:
    """Return the data in a type with an order: booleans become int8."""
    data = operator["self"]
    return operator.emit(cast(data, "int8")) if dtype_of(data) == "bool" else data
