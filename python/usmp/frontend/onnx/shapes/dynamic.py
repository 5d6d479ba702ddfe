"""Converters of ONNX operators on dynamic shapes. The result must be correct for all sizes between
their bounds; otherwise the operator is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from tvm import relax
from tvm.ir import Expr

from usmp.frontend.onnx.graph.node import NotSupported, OnnxNode
from usmp.frontend.onnx.shapes.shape_values import ShapeValues, Values
from usmp.frontend.size_arithmetic import (
    SizeArithmetic,
    SizesError,
    int64,
    is_number,
    number,
    strided_slice,
)
from usmp.ops.real.indices import counted_from_start, outside
from usmp.relax.symbolic_sizes import shown_extent, symbolic_shape


@dataclass(frozen=True)
class _Dynamic:
    """An operator whose shapes depend on sizes.

    Parameters
    ----------
    node
        the operator with its converted inputs.
    values
        the values of inputs that are constant or computed from shapes.
    arithmetic
        the arithmetic on sizes.
    names
        the names of the inputs.
    sizes
        all values that the graph computes from shapes.
    """

    node: OnnxNode
    values: list[Values | None]
    arithmetic: SizeArithmetic
    names: Sequence[str]
    sizes: ShapeValues

    @property
    def data(self) -> Expr:
        """The first input; one that is computed from shapes becomes a run-time tensor."""
        first = self.node.required(0)
        tensor: Expr = self.sizes.as_tensor(self.node.builder, self.names[0], first)
        return tensor

    @property
    def shape(self) -> list[Any]:
        """The shape of the first input: numbers, and expressions of sizes."""
        ty = self.node.required(0).ty
        shape = getattr(ty, "shape", None)
        if not isinstance(shape, relax.ShapeExpr):
            raise NotSupported("the shape of its input is not known")
        return [number(extent) for extent in shape]

    def extents(self, index: int, role: str) -> list[Any]:
        """Return the elements of an input that is a shape: numbers, and expressions of sizes."""
        values = self.values[index] if index < len(self.values) else None
        if values is None:
            raise NotSupported(f"{role} depends on data, and must follow from the sizes")
        return [number(value) for value in values.reshape(-1)]

    def numbers(self, index: int, role: str) -> list[int] | None:
        """Return the elements of an input of numbers, or None if the node does not have it."""
        if self.node.input(index) is None:
            return None
        numbers = self.extents(index, role)
        if not all(isinstance(number, int) for number in numbers):
            raise NotSupported(f"{role} must be constant")
        return numbers


def convert_dynamic(
    name: str, node: OnnxNode, sizes: ShapeValues, inputs: Sequence[str]
) -> Expr | None:
    """Convert an operator on dynamic shapes to Relax; return None if the converter for static
    shapes is right, for example because no shape is dynamic.

    Parameters
    ----------
    inputs
        the names of the inputs.

    Raises
    ------
    NotSupported
        the operator depends on the sizes in an unsupported way.
    """
    converter = _CONVERTERS.get(name)
    if converter is None:
        return None
    values = [sizes.value(name, expr) for name, expr in zip(inputs, node.inputs, strict=True)]
    is_dynamic = any(value is not None and value.dtype == object for value in values)
    exprs = [expr for expr in node.inputs if expr is not None]
    if not is_dynamic and all(symbolic_shape(expr.ty) is None for expr in exprs):
        return None
    try:
        return converter(_Dynamic(node, values, sizes.arithmetic, inputs, sizes))
    except SizesError as error:
        raise NotSupported(str(error)) from error


def _reshape(dynamic: _Dynamic) -> Expr:
    shape, wanted = dynamic.shape, dynamic.extents(1, "the shape")
    keeps_zero = bool(dynamic.node.attributes.get("allowzero", 0))
    extents = [
        shape[axis] if is_number(extent, 0) and not keeps_zero and axis < len(shape) else extent
        for axis, extent in enumerate(wanted)
    ]
    extents = dynamic.arithmetic.reshaped(shape, extents)
    return relax.op.reshape(dynamic.data, [int64(extent) for extent in extents])


def _expand(dynamic: _Dynamic) -> Expr:
    return _broadcast(dynamic, dynamic.extents(1, "the shape"))


def _broadcast(dynamic: _Dynamic, wanted: Sequence[Any]) -> Expr:
    data, shape = dynamic.data, dynamic.shape
    extents = dynamic.arithmetic.broadcast(shape, wanted)
    if len(extents) == len(shape) and all(map(dynamic.arithmetic.are_equal, extents, shape)):
        return data
    return relax.op.broadcast_to(data, [int64(extent) for extent in extents])


def _slice(dynamic: _Dynamic) -> Expr:
    data, shape = dynamic.data, dynamic.shape
    attributes = dynamic.node.attributes
    if dynamic.node.opset < 10:
        starts, ends = list(attributes["starts"]), list(attributes["ends"])
        axes = list(attributes.get("axes", range(len(starts))))
        steps = [1] * len(starts)
    else:
        starts, ends = dynamic.extents(1, "the start"), dynamic.extents(2, "the end")
        axes = dynamic.numbers(3, "the axes") or list(range(len(starts)))
        steps = dynamic.numbers(4, "the steps") or [1] * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise NotSupported("its starts, ends, axes and steps are not as many")
    cuts = {}
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        axis = int(axis) % len(shape)
        cut = dynamic.arithmetic.cut(shape[axis], start, end, int(step))
        whole = dynamic.arithmetic.are_equal(cut[1], shape[axis])
        if not (is_number(cut[0], 0) and step == 1 and whole):
            cuts[axis] = cut
    return strided_slice(data, cuts)


def _gather(dynamic: _Dynamic) -> Expr:
    indices = dynamic.values[1]
    data, shape = dynamic.data, dynamic.shape
    axis = int(dynamic.node.attributes.get("axis", 0)) % len(shape)
    extent = shape[axis]
    if indices is None:
        return _gather_computed(dynamic, extent, axis)
    if indices.dtype != object and isinstance(extent, int):
        reason = outside(indices, [extent], [axis])
        if reason is not None:
            raise NotSupported(reason)
        counted = relax.const(counted_from_start(indices, [extent]))
        return relax.op.take(data, counted, axis, mode="fast")
    if indices.size != 1:
        raise NotSupported(
            f"it takes {indices.size} positions along an axis of {shown_extent(extent)} elements; "
            "only one is supported where the size is not fixed"
        )
    (index,) = dynamic.extents(1, "the position")
    index = dynamic.arithmetic.position(index, extent)
    last = dynamic.arithmetic.simplified(index + 1)
    slice_ = dynamic.node.builder.emit(strided_slice(data, {axis: (index, last, 1)}))
    others = [int64(size) for size in shape]
    return relax.op.reshape(slice_, [*others[:axis], *indices.shape, *others[axis + 1 :]])


def _gather_computed(dynamic: _Dynamic, extent: Any, axis: int) -> Expr:
    """Gather at positions computed at run time, along an axis of fixed extent."""
    if not isinstance(extent, int):
        raise NotSupported(
            f"it takes positions that depend on data, along an axis of {shown_extent(extent)} "
            "elements, a size that only the run knows"
        )
    return relax.op.take(dynamic.data, dynamic.node.required(1), axis, mode="fast")


def _constant_of_shape(dynamic: _Dynamic) -> Expr:
    value = dynamic.node.attributes.get("value")
    array = np.float32(0) if value is None else onnx.numpy_helper.to_array(value)
    extents = [int64(extent) for extent in dynamic.extents(0, "the shape")]
    element = relax.const(np.asarray(array).reshape(()), str(array.dtype))
    return relax.op.full(extents, element, str(array.dtype))


def _tile(dynamic: _Dynamic) -> Expr | None:
    repeats, shape = dynamic.extents(1, "the repeats"), dynamic.shape
    if all(isinstance(number, int) for number in repeats):
        return None
    if len(repeats) != len(shape):
        raise NotSupported("its repeats are not one for each axis")
    for extent, count in zip(shape, repeats, strict=True):
        if not (is_number(extent, 1) or is_number(count, 1)):
            raise NotSupported(
                f"it repeats {shown_extent(extent)} elements {shown_extent(count)} times; only one "
                "is supported"
            )
    return _broadcast(
        dynamic, [c if is_number(e, 1) else e for e, c in zip(shape, repeats, strict=True)]
    )


def _range(dynamic: _Dynamic) -> Expr:
    start, end, step = (
        dynamic.extents(index, role)[0] for index, role in enumerate(("start", "limit", "step"))
    )
    if not is_number(step, 1) or not dynamic.arithmetic.is_at_most(start, end):
        raise NotSupported(
            f"from {shown_extent(start)} to {shown_extent(end)} by {shown_extent(step)}: only "
            "upwards by 1 is supported"
        )
    return relax.op.arange(*(relax.prim_value(int64(v)) for v in (start, end, step)), "int64")


def _refuse_split(dynamic: _Dynamic) -> Expr | None:
    shape = dynamic.shape
    extent = shape[int(dynamic.node.attributes.get("axis", 0)) % len(shape)]
    if not isinstance(extent, int):
        raise NotSupported(
            f"it splits an axis of {shown_extent(extent)} elements, a size that only the run knows"
        )
    return None


_CONVERTERS: dict[str, Callable[[_Dynamic], Expr | None]] = {
    "ConstantOfShape": _constant_of_shape,
    "Expand": _expand,
    "Gather": _gather,
    "Range": _range,
    "Reshape": _reshape,
    "Slice": _slice,
    "Split": _refuse_split,
    "Tile": _tile,
}
