"""Converters of scatters, which write updates at indexed positions of a tensor or combine them.

Updates are written in the order of the indices, so the last one of several at a position remains.
PyTorch raises an error for a position outside of the tensor. Here such an update is not written,
and a constant position outside is refused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from tvm import relax, tirx
from tvm.ir import Expr

from usmp.frontend.pytorch.converters.indexing import check_positions
from usmp.frontend.pytorch.converters.operator import Operator, cast, constant, converts, rank_of
from usmp.ops.emit import dtype_of, shape_of
from usmp.ops.real.gather import picked_part
from usmp.ops.real.indices import broadcast_element
from usmp.ops.real.order import extreme_element
from usmp.ops.real.scatter import (
    REDUCTIONS,
    Combination,
    Coordinates,
    Position,
    along_axis,
    scattered,
    scattered_in_place,
    slices_along,
)
from usmp.tir.dtypes import is_float

_COMBINATIONS: dict[str, Combination] = {
    "update": REDUCTIONS["update"],
    "add": REDUCTIONS["add"],
    "sum": REDUCTIONS["add"],
    "mean": REDUCTIONS["add"],
    "multiply": REDUCTIONS["mul"],
    "prod": REDUCTIONS["mul"],
    "amax": partial(extreme_element, is_largest=True),
    "amin": partial(extreme_element, is_largest=False),
}
_OF_BOOLEANS = {"add": "amax", "sum": "amax", "multiply": "amin", "prod": "amin"}
"""Reductions of booleans as 0 and 1: sums saturate as maxima, and products are minima."""


@converts("scatter.src")
def _scatter(operator: Operator) -> Expr:
    return _along_axis(operator, operator["src"], "update")


@converts("scatter.value")
def _scatter_value(operator: Operator) -> Expr:
    return _along_axis(operator, constant(operator["value"], operator.dtype), "update")


@converts("scatter.reduce")
def _scatter_with_reduction(operator: Operator) -> Expr:
    return _along_axis(operator, operator["src"], operator["reduce"])


@converts("scatter.value_reduce")
def _scatter_value_with_reduction(operator: Operator) -> Expr:
    value = constant(operator["value"], operator.dtype)
    return _along_axis(operator, value, operator["reduce"])


@converts("scatter_add.default")
def _scatter_add(operator: Operator) -> Expr:
    return _along_axis(operator, operator["src"], "sum")


@converts("scatter_reduce.two")
def _scatter_reduce(operator: Operator) -> Expr:
    return _along_axis(operator, operator["src"], operator["reduce"])


def _along_axis(operator: Operator, updates: Expr, reduction: str) -> Expr:
    """Scatter updates along an axis: the index replaces one coordinate of an update's position."""
    data, index = (_with_an_axis(operator, operator[name]) for name in ("self", "index"))
    updates = updates if _is_number(updates) else _with_an_axis(operator, updates)
    axis = operator["dim"] % rank_of(data)
    check_positions(operator, index, shape_of(data)[axis], axis)

    tensors = [data, index, updates]
    result = _reduced(operator, tensors, shape_of(index), along_axis(axis), reduction)
    shape = shape_of(operator["self"])
    return result if shape else relax.op.reshape(operator.emit(result), shape)


@converts("index_reduce.default")
def _index_reduce(operator: Operator) -> Expr:
    """Convert `index_reduce`, which scatters whole slices along an axis."""
    data, index, updates = (
        _with_an_axis(operator, operator[name]) for name in ("self", "index", "source")
    )
    axis = operator["dim"] % rank_of(data)
    check_positions(operator, index, shape_of(data)[axis], axis)

    tensors = [data, index, updates]
    coordinates = slices_along(axis)
    result = _reduced(operator, tensors, shape_of(updates), coordinates, operator["reduce"])
    shape = shape_of(operator["self"])
    return result if shape else relax.op.reshape(operator.emit(result), shape)


@converts("index_put.default")
def _index_put(operator: Operator) -> Expr:
    """Convert `index_put`: `data[indices] = values`."""
    data, indices = operator["self"], list(operator["indices"])
    indexed = [(axis, index) for axis, index in enumerate(indices) if index is not None]
    reduction = "add" if operator["accumulate"] else "update"
    if any(dtype_of(index) in ("bool", "uint8") for _, index in indexed):
        return _put_under_mask(operator, indexed, reduction)
    axes = [axis for axis, _ in indexed]
    for axis, index in indexed:
        check_positions(operator, index, shape_of(data)[axis], axis)
    picked = picked_part(shape_of(data), indexed)

    def coordinates(buffers: list[tirx.Buffer], i: Position) -> list[tirx.Expr]:
        positions, own = picked.positions(tuple(i))
        for axis, buffer in zip(axes, buffers, strict=True):
            positions[axis] = broadcast_element(buffer, own)
        return [positions[axis] for axis in range(rank_of(data))]

    tensors = [data, *(index for _, index in indexed), operator["values"]]
    return _combined(operator, tensors, picked.shape, coordinates, reduction)


def index_put_within(operator: Operator, whole: Expr, selected: Sequence[tuple[int, int]]) -> Expr:
    """Convert an `index_put` into a selection of a tensor to a write into the tensor itself.

    Parameters
    ----------
    operator
        the `index_put`.
    whole
        the tensor.
    selected
        axis and index of each selection, in order, beginning at `whole`.
    """
    shape = [int(extent) for extent in operator.meta("self").shape]
    indices = list(operator["indices"])
    indexed = [(axis, index) for axis, index in enumerate(indices) if index is not None]
    for axis, index in indexed:
        check_positions(operator, index, shape[axis], axis)
    picked = picked_part(shape, indexed)

    def coordinates(buffers: list[tirx.Buffer], i: Position) -> list[tirx.Expr]:
        positions, own = picked.positions(tuple(i))
        for (axis, _), buffer in zip(indexed, buffers, strict=True):
            positions[axis] = broadcast_element(buffer, own)
        place = [positions[axis] for axis in range(len(shape))]
        for axis, index in reversed(selected):
            place.insert(axis, tirx.IntImm("int32", index))
        return place

    if 0 in picked.shape:
        return whole
    others = [operator.emit(expr) for expr in (*(i for _, i in indexed), operator["values"])]
    return scattered_in_place(
        operator.builder,
        "scatter",
        [whole, *others],
        picked.shape,
        coordinates,
        REDUCTIONS["update"],
    )


def _put_under_mask(operator: Operator, pairs: Sequence[tuple[int, Expr]], reduction: str) -> Expr:
    """Convert `data[mask] = values` to a select, if every picked slice gets the same values."""
    data, values = operator["self"], operator["values"]
    (axis, mask), *others = pairs
    behind = rank_of(data) - axis - rank_of(mask)
    shape = shape_of(values)
    counted = shape[-behind - 1] if len(shape) > behind else 1
    if others or counted != 1 or not rank_of(mask):
        raise operator.refusal(
            "with a mask and a value for each element that it picks is not supported: how many "
            "these are must be known at compile time; use torch.where()"
        )
    if len(shape) > behind:
        split = len(shape) - behind - 1
        wide = (*shape[:split], *(1,) * rank_of(mask), *shape[split + 1 :])
        values = operator.emit(relax.op.reshape(values, wide))
    picks = operator.emit(cast(mask, "bool"))
    picks = operator.emit(relax.op.reshape(picks, (*shape_of(mask), *(1,) * behind)))
    if reduction == "add":
        if dtype_of(data) == "bool":
            values = relax.op.logical_or(data, values)
        else:
            values = relax.op.add(data, values)
        values = operator.emit(values)
    return relax.op.where(picks, values, data)


def _reduced(
    operator: Operator,
    tensors: Sequence[Expr],
    extents: Sequence[int],
    coordinates: Coordinates,
    reduction: str,
) -> Expr:
    """Scatter by a reduction, with or without the original elements of the tensor."""
    data, *indices, updates = tensors
    if reduction == "mean" and dtype_of(data) == "bool":
        raise operator.refusal("of booleans is not supported; convert them to float32 before")
    if not operator.get("include_self", True):
        first = constant(_identity(reduction, dtype_of(data)), dtype_of(data))
        data = operator.emit(
            _combined(operator, [data, *indices, first], extents, coordinates, "update")
        )
    result = _combined(operator, [data, *indices, updates], extents, coordinates, reduction)
    if reduction != "mean":
        return result
    dtype, begin = dtype_of(data), int(operator.get("include_self", True))
    begins = relax.const(np.full(shape_of(data), begin), dtype)
    one = constant(1, dtype)
    counts = operator.emit(
        _combined(operator, [begins, *indices, one], extents, coordinates, "sum")
    )
    divide = relax.op.divide if is_float(dtype) else relax.op.floor_divide
    return divide(operator.emit(result), operator.emit(relax.op.maximum(counts, one)))


def _identity(reduction: str, dtype: str) -> float:
    """Return the identity element of a reduction."""
    if reduction in ("amax", "amin"):
        if is_float(dtype):
            return -math.inf if reduction == "amax" else math.inf
        if dtype == "bool":
            return int(reduction == "amin")
        limits = np.iinfo(dtype)
        return int(limits.min if reduction == "amax" else limits.max)
    return int(reduction == "prod")


def _combined(
    operator: Operator,
    tensors: Sequence[Expr],
    extents: Sequence[int],
    coordinates: Coordinates,
    reduction: str,
) -> Expr:
    """Return the tensor after all updates are combined with it in order."""
    data, *indices, updates = tensors
    if 0 in extents:
        return data
    combine = _COMBINATIONS[reduction]
    if operator.is_state(data) and (reduction == "update" or dtype_of(data) != "bool"):
        exprs = [data, *(operator.emit(tensor) for tensor in (*indices, updates))]
        return scattered_in_place(operator.builder, "scatter", exprs, extents, coordinates, combine)
    is_boolean = dtype_of(data) == "bool"
    if is_boolean:
        reduction = _OF_BOOLEANS.get(reduction, reduction)
        data, updates = (operator.emit(cast(tensor, "int8")) for tensor in (data, updates))
    exprs = [data, *(operator.emit(tensor) for tensor in indices), operator.emit(updates)]
    combine = _COMBINATIONS[reduction]
    result = scattered(operator.builder, "scatter", exprs, extents, coordinates, combine)
    return cast(operator.emit(result), "bool") if is_boolean else result


def _is_number(updates: Expr) -> bool:
    return not shape_of(updates)


def _with_an_axis(operator: Operator, tensor: Expr) -> Expr:
    """Return a scalar as a vector of one element, and other tensors unchanged."""
    return tensor if shape_of(tensor) else operator.emit(relax.op.reshape(tensor, (1,)))
