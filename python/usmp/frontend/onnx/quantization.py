"""What ONNX computes of integers and their zero points where these are known to the run only."""

from __future__ import annotations

from math import prod

from tvm import relax
from tvm.ir import Expr
from tvm.relax.frontend.onnx import onnx_frontend

from usmp.frontend.onnx.node import NotSupported, OnnxNode, dtype_of


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


def convolution_of_integers(node: OnnxNode) -> Expr:
    """`ConvInteger`: of integers less their zero points, in 32 bits."""
    data, weight = (_centered(node, index) for index in (0, 1))
    convert = onnx_frontend.Conv.get_converter(node.opset)
    return convert(node.builder, [data, weight, None], dict(node.attributes), {})


def _centered(node: OnnxNode, index: int) -> Expr:
    """The data or the weight less its zero point: int32."""
    integers, zero_point = node.required(index), node.input(index + 2)
    if dtype_of(integers) not in ("int8", "uint8"):
        raise NotSupported(f"input {index} is {dtype_of(integers)}; it must be int8 or uint8")
    wide = relax.op.astype(integers, "int32")
    if zero_point is None:
        return node.builder.emit(wide)
    count = prod(int(extent) for extent in zero_point.ty.shape)
    rank = len(integers.ty.shape)
    # Of the weight, each output channel may have its own.
    shape = [1] * rank if count == 1 else [count if index else 1, *[1] * (rank - 1)]
    point = relax.op.reshape(relax.op.astype(zero_point, "int32"), shape)
    return node.builder.emit(relax.op.subtract(wide, point))
