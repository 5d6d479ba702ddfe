"""ONNX `DynamicQuantizeLinear`."""

from __future__ import annotations

from tvm import relax
from tvm.ir import Expr

from usmp.frontend.onnx.node import OnnxNode


def dynamic_quantize_linear(node: OnnxNode) -> Expr:
    """With a scale of 1 where all elements are 0; TVM's divides by 0."""
    data = node.required(0)
    builder = node.builder
    zero, most = relax.const(0, "float32"), relax.const(255, "float32")
    high = builder.emit(relax.op.maximum(zero, relax.op.max(data)))
    low = builder.emit(relax.op.minimum(zero, relax.op.min(data)))
    extent = builder.emit(relax.op.subtract(high, low))
    one = relax.const(1, "float32")
    scale = builder.emit(
        relax.op.where(relax.op.equal(extent, zero), one, relax.op.divide(extent, most))
    )
    unrounded = relax.op.clip(relax.op.subtract(zero, relax.op.divide(low, scale)), 0, 255)
    zero_point = builder.emit(relax.op.astype(relax.op.round(unrounded), "uint8"))
    quantized = builder.emit(relax.op.quantize(data, scale, zero_point, axis=0, out_dtype="uint8"))
    return relax.Tuple([quantized, scale, zero_point])
