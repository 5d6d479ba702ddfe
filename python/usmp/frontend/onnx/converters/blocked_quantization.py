"""Converters of `QuantizeLinear` and `DequantizeLinear` with a scale for each block of elements.

Source: ONNX operators, DequantizeLinear-21, `block_size`.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np
from onnx import TensorProto, helper
from tvm import relax
from tvm.ir import Expr

from usmp.frontend.onnx.graph.axes import axis_of
from usmp.frontend.onnx.graph.node import NotSupported, OnnxNode
from usmp.ops.block_quantization import Blocks, dequantize_blocks, quantize_blocks
from usmp.ops.emit import dtype_of, shape_of

_STORED = ("int8", "uint8", "int16", "uint16")


def dequantize_linear(node: OnnxNode) -> Expr | OnnxNode:
    """Convert `DequantizeLinear` with blocks; TVM converts it without blocks."""
    blocks = _blocks(node)
    if blocks is None:
        return _without_ignored_axis(node)
    stored, scale, zero_point = node.required(0), node.required(1), node.input(2)
    _check_types(dtype_of(stored), scale, zero_point)
    if int(node.attributes.get("output_dtype", 0)) not in (0, TensorProto.FLOAT):
        raise NotSupported("its output_dtype is another than float; cast the result")
    zeros = relax.const(np.zeros(shape_of(scale), dtype_of(stored)))
    zero_point = zeros if zero_point is None else zero_point
    return dequantize_blocks(node.builder, stored, scale, zero_point, blocks)


def quantize_linear(node: OnnxNode) -> Expr | OnnxNode:
    """Convert `QuantizeLinear` with blocks; TVM converts it without blocks."""
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
    return quantize_blocks(node.builder, data, scale, zero_point, blocks)


def _without_ignored_axis(node: OnnxNode) -> OnnxNode:
    """Return the node without its axis if it has a single scale, because TVM checks the axis."""
    if prod(shape_of(node.required(1))) != 1:
        return node
    kept = {name: value for name, value in node.attributes.items() if name != "axis"}
    return replace(node, attributes=kept)


def _blocks(node: OnnxNode) -> Blocks | None:
    """Return the blocks of elements that share a scale; None if `block_size` is 0."""
    size = int(node.attributes.get("block_size", 0))
    if size == 0:
        return None
    shape, scales = shape_of(node.required(0)), shape_of(node.required(1))
    axis = axis_of(int(node.attributes.get("axis", 1)), len(shape))
    if size < 0:
        raise NotSupported(f"block_size is {size}; it must be positive")
    expected = (*shape[:axis], -(-shape[axis] // size), *shape[axis + 1 :])
    zero_point = node.input(2)
    shapes = {"scale": scales}
    if zero_point is not None:
        shapes["zero point"] = shape_of(zero_point)
    for name, actual in shapes.items():
        if actual != expected:
            raise NotSupported(
                f"its {name} has shape {list(actual)}; with block_size {size} along axis {axis} of "
                f"{list(shape)} it should be {list(expected)}"
            )
    return Blocks(axis, min(size, shape[axis]))


def _check_types(stored: str, scale: Expr, zero_point: Expr | None) -> None:
    if stored not in _STORED:
        raise NotSupported(f"{stored} in blocks; supported: {', '.join(_STORED)}")
    if dtype_of(scale) != "float32":
        raise NotSupported(f"its scale is {dtype_of(scale)}; cast it to float")
    if zero_point is not None and dtype_of(zero_point) != stored:
        raise NotSupported(f"its zero point is {dtype_of(zero_point)}, and its elements {stored}")
