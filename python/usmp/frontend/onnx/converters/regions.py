"""Converter of ONNX `RoiAlign`."""

from __future__ import annotations

from dataclasses import replace

from tvm import relax

from usmp.frontend.onnx.converters.indexing import check_indices
from usmp.frontend.onnx.graph.node import NotSupported, OnnxNode
from usmp.ops.emit import dtype_of, shape_of


def roi_align(node: OnnxNode) -> OnnxNode:
    """Return `RoiAlign` with scaled regions, because TVM would scale the half-pixel offset, too.
    Refuse mode "max": runtimes take the maximum of products, TVM of interpolated values."""
    if node.text("mode", "avg") == "max":
        raise NotSupported('mode "max" is computed differently by every runtime; use mode "avg"')
    check_indices(node.required(2), shape_of(node.required(0)), [0], from_end=False)
    scale = node.attributes.get("spatial_scale", 1.0)
    regions = node.required(1)
    scaled = relax.op.multiply(regions, relax.const(scale, dtype_of(regions)))
    inputs = [node.inputs[0], node.builder.emit(scaled), *node.inputs[2:]]
    return replace(node, inputs=inputs, attributes={**node.attributes, "spatial_scale": 1.0})
