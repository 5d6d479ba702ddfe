"""Converter of ONNX `TopK`: the largest or smallest elements along an axis, in order."""

from __future__ import annotations

from tvm import relax
from tvm.ir import Expr

from usmp.frontend.onnx.graph.axes import axis_of
from usmp.frontend.onnx.graph.node import NotSupported, OnnxNode
from usmp.ops.emit import shape_of
from usmp.ops.real.top_k import top_elements


def top_k(node: OnnxNode) -> Expr:
    """Convert `TopK` to a stable order, as in onnxruntime; the order of NaN is unspecified."""
    data = node.required(0)
    shape = shape_of(data)
    axis = axis_of(int(node.attributes.get("axis", -1)), len(shape))
    if node.opset < 10:
        count = int(node.attributes.get("k", 0))
    else:
        k = node.constant(1, "how many elements there will be")
        count = 0 if k is None else int(k.item())
    if not 1 <= count <= shape[axis]:
        raise NotSupported(f"{count} of {shape[axis]} elements cannot be taken")
    largest = bool(node.attributes.get("largest", 1))
    return relax.Tuple(top_elements(node.builder, data, axis, count, largest))
