"""Converter of ONNX `MaxPool` with indices."""

from __future__ import annotations

from tvm import relax
from tvm.ir import Expr

from usmp.frontend.onnx.graph.node import NotSupported, OnnxNode
from usmp.ops.emit import shape_of
from usmp.ops.real.extremes import max_pool_with_places


def max_pool(node: OnnxNode) -> Expr | None:
    """Convert `MaxPool` with indices to the maxima and the flat indices of their first occurrence.

    TVM converts it without indices. With `storage_order` 1, indices are in column-major order.
    """
    if node.outputs == 1:
        return None
    rank = len(shape_of(node.required(0))) - 2
    kernel = _numbers(node, "kernel_shape", [])
    strides, dilations = (_numbers(node, n, [1] * rank) for n in ("strides", "dilations"))
    pads = _numbers(node, "pads", [0] * 2 * rank)
    if not len(kernel) == len(strides) == len(dilations) == len(pads) / 2 == rank:
        raise NotSupported("its attributes are not of as many axes as its input")
    if min(*strides, *dilations, *kernel) < 1:
        raise NotSupported("its kernel, strides and dilations are not all positive")
    if node.attributes.get("ceil_mode", 0):
        raise NotSupported("with indices, ceil_mode must be 0")
    pooled = max_pool_with_places(
        node.builder,
        node.required(0),
        kernel,
        strides,
        dilations,
        (pads[:rank], pads[rank:]),
        first_axis_fastest=bool(node.attributes.get("storage_order", 0)),
    )
    return relax.Tuple(pooled)


def _numbers(node: OnnxNode, name: str, default: list[int]) -> list[int]:
    return [int(number) for number in node.attributes.get(name, default)]
