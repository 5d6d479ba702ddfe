"""Converters of ONNX reductions that TVM converts wrongly: of integers, and over no axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from tvm import relax
from tvm.ir import Expr

from usmp.frontend.onnx.graph.node import NotSupported, OnnxNode
from usmp.ops.emit import dtype_of, shape_of
from usmp.tir.dtypes import is_float

_OF_EACH_ELEMENT: Mapping[str, Callable[[Expr], Expr]] = {
    "ReduceL1": relax.op.abs,
    "ReduceL2": relax.op.abs,
    "ReduceSumSquare": lambda data: relax.op.multiply(data, data),
    "ReduceLogSum": relax.op.log,
}
"""Reduction -> its element-wise function over no axis; other reductions are the identity then."""

_OF_FLOATS = frozenset({"ReduceLogSum", "ReduceLogSumExp", "ReduceL2"})


def reduction(name: str) -> Callable[[OnnxNode], Expr | None]:
    """Return the converter of a reduction."""

    def convert(node: OnnxNode) -> Expr | None:
        data, axes = node.required(0), _axes(node)
        if name in _OF_FLOATS and not is_float(dtype_of(data)):
            raise NotSupported(
                f"of {dtype_of(data)} it is not defined to the last digit; cast the input to float"
            )
        if not axes and node.attributes.get("noop_with_empty_axes", 0):
            element_wise = _OF_EACH_ELEMENT.get(name)
            return element_wise(data) if element_wise else None
        if name == "ReduceMean" and not is_float(dtype_of(data)):
            return _integer_mean(data, axes, bool(node.attributes.get("keepdims", 1)))
        return None

    return convert


def _axes(node: OnnxNode) -> list[int]:
    if "axes" in node.attributes:
        return [int(axis) for axis in node.attributes["axes"]]
    axes = node.constant(1, "the axes")
    return [] if axes is None else [int(axis) for axis in axes]


def _integer_mean(data: Expr, axes: list[int], keeps: bool) -> Expr:
    """Emit a mean of integers, rounded towards zero."""
    shape = shape_of(data)
    count = math.prod(shape[axis] for axis in axes) if axes else math.prod(shape)
    dtype = "uint64" if dtype_of(data).startswith("u") else "int64"
    total = relax.op.sum(relax.op.astype(data, dtype), axes or None, keeps)
    mean = relax.op.divide(total, relax.const(count, dtype))
    return relax.op.astype(mean, dtype_of(data))


def lp_normalization(node: OnnxNode) -> Expr:
    """Convert `LpNormalization` with p 1 or 2; elements of norm 0 stay 0."""
    data, builder = node.required(0), node.builder
    axis, order = int(node.attributes.get("axis", -1)), int(node.attributes.get("p", 2))
    if order not in (1, 2):
        raise NotSupported(f"p is {order}, not 1 or 2")
    terms = relax.op.abs(data) if order == 1 else relax.op.multiply(data, data)
    norm = builder.emit(relax.op.sum(builder.emit(terms), [axis], keepdims=True))
    if order == 2:
        norm = builder.emit(relax.op.sqrt(norm))
    zero, one = relax.const(0, dtype_of(data)), relax.const(1, dtype_of(data))
    divisor = relax.op.where(relax.op.equal(norm, zero), one, norm)
    return relax.op.divide(data, builder.emit(divisor))
