"""The largest and the smallest element over axes, and where the first of them is.

What is not a number is larger and smaller than every number, as in PyTorch.
"""

from __future__ import annotations

import math

from tvm import relax, te, tirx
from tvm.ir import Expr

from usmp.frontend.pytorch.converters.operator import (
    Operator,
    cast,
    converts,
    dtype_of,
    is_float,
    rank_of,
)
from usmp.frontend.pytorch.converters.ordering import larger_element, smaller_element
from usmp.frontend.pytorch.converters.reductions import reduced_axes
from usmp.frontend.size_arithmetic import number
from usmp.ops.emit import call_operator, shape_of
from usmp.ops.top_k import equals, precedes


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
    """The extreme of the data, whose elements can be ordered, over the operator's axes."""
    axes, keepdim = reduced_axes(operator), operator.get("keepdim", False)
    if not axes:
        return data
    if not is_float(dtype_of(data)):
        reduce = relax.op.max if is_largest else relax.op.min
        return cast(operator.emit(reduce(data, axes, keepdims=keepdim)), operator.dtype)
    return _keep(operator, _extreme_of_floats(operator, data, axes, is_largest), axes)


def _extreme_of_floats(operator: Operator, data: Expr, axes: list[int], is_largest: bool) -> Expr:
    def identity(dtype: str) -> tirx.Expr:
        return tirx.FloatImm(dtype, -math.inf if is_largest else math.inf)

    choose = larger_element if is_largest else smaller_element
    reducer = te.comm_reducer(choose, identity, name="extreme")
    kept = [axis for axis in range(rank_of(data)) if axis not in axes]

    def compute(data: te.Tensor) -> te.Tensor:
        shape = [number(extent) for extent in data.shape]
        reduced = {axis: te.reduce_axis((0, shape[axis])) for axis in axes}

        def element(*i: tirx.Var) -> tirx.Expr:
            position = dict(zip(kept, i, strict=True)) | reduced
            return reducer(data[tuple(position[a] for a in range(len(shape)))], [*reduced.values()])

        return te.compute([shape[axis] for axis in kept], element, "output")

    return call_operator(operator.builder, "max" if is_largest else "min", compute, [data])


def _position(operator: Operator, is_largest: bool) -> Expr:
    """The index along the axis, or in the whole tensor as one row."""
    data, axes = _ordered(operator), reduced_axes(operator)
    if not axes:
        return relax.op.full(shape_of(data), relax.const(0, "int64"), "int64")
    if operator["dim"] is None:
        data = operator.emit(relax.op.reshape(data, (math.prod(shape_of(data)),)))
        position = _position_in_row(operator, data, 0, is_largest)
        return _keep(operator, position, axes)
    return _keep(operator, _position_in_row(operator, data, axes[0], is_largest), axes)


def _position_in_row(operator: Operator, data: Expr, axis: int, is_largest: bool) -> Expr:
    shape = shape_of(data)

    def choose(a: tuple[tirx.Expr, ...], b: tuple[tirx.Expr, ...]) -> tuple[tirx.Expr, tirx.Expr]:
        is_first = tirx.And(equals(a[1], b[1]), a[0] < b[0])
        is_a = tirx.Or(precedes(a[1], b[1], is_largest), is_first)
        return tirx.Select(is_a, a[0], b[0]), tirx.Select(is_a, a[1], b[1])

    def identity(index: str, value: str) -> tuple[tirx.Expr, tirx.Expr]:
        worst = tirx.min_value(value) if is_largest else tirx.max_value(value)
        if is_float(value):
            worst = tirx.FloatImm(value, -math.inf if is_largest else math.inf)
        return tirx.const(2**31 - 1, index), worst

    reducer = te.comm_reducer(choose, identity, name="place")

    def compute(data: te.Tensor) -> te.Tensor:
        along = te.reduce_axis((0, shape[axis]))

        def element(*i: tirx.Var) -> tirx.Expr:
            return reducer((along.var.astype("int64"), data[(*i[:axis], along, *i[axis:])]), along)

        outputs = te.compute((*shape[:axis], *shape[axis + 1 :]), element, "places")
        return te.compute(outputs[0].shape, lambda *i: outputs[0][i], "output")

    return call_operator(operator.builder, "argmax" if is_largest else "argmin", compute, [data])


def _ordered(operator: Operator) -> Expr:
    """The data in a type whose elements can be ordered."""
    data = operator["self"]
    return operator.emit(cast(data, "int8")) if dtype_of(data) == "bool" else data


def _keep(operator: Operator, result: Expr, axes: list[int]) -> Expr:
    """With axes of one element where the operator keeps the reduced ones."""
    if not operator.get("keepdim", False):
        return result
    return relax.op.expand_dims(operator.emit(result), axes)
