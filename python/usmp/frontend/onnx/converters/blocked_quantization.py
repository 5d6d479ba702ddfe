"""`QuantizeLinear` and `DequantizeLinear` with a scale for each block of elements along an axis.

Source: ONNX operators, DequantizeLinear-21, `block_size`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

import numpy as np
from onnx import TensorProto, helper
from tvm import relax, te, tirx
from tvm.ir import Expr, GenericConst

from usmp.frontend.onnx.graph.axes import axis_of
from usmp.frontend.onnx.graph.node import NotSupported, OnnxNode, dtype_of
from usmp.ops.emit import call_operator, shape_of

_STORED = ("int8", "uint8", "int16", "uint16")


@dataclass(frozen=True)
class _Blocks:
    """How elements are grouped.

    Parameters
    ----------
    axis
        the one along which they are.
    size
        of a block, in elements; the last one may be smaller.
    """

    axis: int
    size: int

    def of(self, at: tuple[tirx.Var, ...]) -> list[tirx.Expr]:
        """Where the scale of an element is."""
        block = tirx.floordiv(at[self.axis], self.size)
        return [*at[: self.axis], block, *at[self.axis + 1 :]]

    def repeated(self, values: np.ndarray, extent: int) -> np.ndarray:
        """What blocks have, for each of `extent` elements."""
        return np.take(values, np.arange(extent) // self.size, self.axis)


def dequantize_linear(node: OnnxNode) -> Expr | OnnxNode:
    """Of constants, a constant; without blocks, TVM's."""
    blocks = _blocks(node)
    if blocks is None:
        return _without_ignored_axis(node)
    stored, scale, zero_point = node.required(0), node.required(1), node.input(2)
    _check_types(dtype_of(stored), scale, zero_point)
    if int(node.attributes.get("output_dtype", 0)) not in (0, TensorProto.FLOAT):
        raise NotSupported("its output_dtype is another than float; cast the result")
    zeros = relax.const(np.zeros(shape_of(scale), dtype_of(stored)))
    operands = [stored, scale, zeros if zero_point is None else zero_point]
    if all(isinstance(operand, GenericConst) for operand in operands):
        values, scales, offsets = (operand.value.numpy() for operand in operands)
        extent = values.shape[blocks.axis]
        offsets = blocks.repeated(offsets, extent).astype(np.float32)
        real = (values.astype(np.float32) - offsets) * blocks.repeated(scales, extent)
        return relax.const(real)

    def compute(stored: te.Tensor, scale: te.Tensor, zero: te.Tensor) -> te.Tensor:
        def element(*at: tirx.Var) -> tirx.Expr:
            block = blocks.of(at)
            steps = stored(*at).astype("int32") - zero(*block).astype("int32")
            return steps.astype("float32") * scale(*block)

        return te.compute(stored.shape, element, "dequantized")

    return call_operator(node.builder, "dequantize_blocks", compute, operands)


def quantize_linear(node: OnnxNode) -> Expr | OnnxNode:
    """Without blocks, TVM's."""
    blocks = _blocks(node)
    if blocks is None:
        return _without_ignored_axis(node)
    data, scale, zero_point = node.required(0), node.required(1), node.input(2)
    if zero_point is None:
        element_type = int(node.attributes.get("output_dtype", 0)) or TensorProto.UINT8
        dtype = str(helper.tensor_dtype_to_np_dtype(element_type))
        _check_types(dtype, scale, None)
        zero_point = relax.const(np.zeros(shape_of(scale), dtype))
    dtype = dtype_of(zero_point)
    _check_types(dtype, scale, zero_point)
    if dtype_of(data) != "float32":
        raise NotSupported(f"of {dtype_of(data)} in blocks; cast the input to float")
    if int(node.attributes.get("precision", 0)) not in (0, TensorProto.FLOAT):
        raise NotSupported("its precision is another than float; leave it out")
    limits = np.iinfo(dtype)

    def compute(data: te.Tensor, scale: te.Tensor, zero: te.Tensor) -> te.Tensor:
        def element(*at: tirx.Var) -> tirx.Expr:
            block = blocks.of(at)
            steps = te.round(data(*at) / scale(*block)) + zero(*block).astype("float32")
            low, high = (tirx.const(float(limit), "float32") for limit in (limits.min, limits.max))
            return te.max(te.min(steps, high), low).astype(dtype)

        return te.compute(data.shape, element, "quantized")

    return call_operator(node.builder, "quantize_blocks", compute, [data, scale, zero_point])


def _without_ignored_axis(node: OnnxNode) -> OnnxNode:
    """One scale is that of all elements, whatever the axis is; TVM checks it all the same."""
    if prod(shape_of(node.required(1))) != 1:
        return node
    kept = {name: value for name, value in node.attributes.items() if name != "axis"}
    return replace(node, attributes=kept)


def _blocks(node: OnnxNode) -> _Blocks | None:
    """How the elements are grouped, if they are."""
    size = int(node.attributes.get("block_size", 0))
    if size == 0:
        return None
    shape, scales = shape_of(node.required(0)), shape_of(node.required(1))
    axis = axis_of(int(node.attributes.get("axis", 1)), len(shape))
    if size < 0:
        raise NotSupported(f"block_size is {size}; it must be positive")
    expected = (*shape[:axis], -(-shape[axis] // size), *shape[axis + 1 :])
    zero_point = node.input(2)
    given_shapes = {"scale": scales}
    if zero_point is not None:
        given_shapes["zero point"] = shape_of(zero_point)
    for name, given in given_shapes.items():
        if given != expected:
            raise NotSupported(
                f"its {name} has shape {list(given)}; with block_size {size} along axis {axis} of "
                f"{list(shape)} it should be {list(expected)}"
            )
    return _Blocks(axis, min(size, shape[axis]))


def _check_types(stored: str, scale: Expr, zero_point: Expr | None) -> None:
    if stored not in _STORED:
        raise NotSupported(f"{stored} in blocks; supported: {', '.join(_STORED)}")
    if dtype_of(scale) != "float32":
        raise NotSupported(f"its scale is {dtype_of(scale)}; cast it to float")
    if zero_point is not None and dtype_of(zero_point) != stored:
        raise NotSupported(f"its zero point is {dtype_of(zero_point)}, and its elements {stored}")
