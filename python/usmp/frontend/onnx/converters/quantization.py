"""Converters of ONNX's integer operators whose zero points may be computed at run time."""

from __future__ import annotations

from math import prod

import numpy as np
from tvm import relax
from tvm.ir import Expr

from usmp.frontend.onnx.graph.node import NotSupported, OnnxNode
from usmp.ops import integer_products
from usmp.ops.emit import dtype_of, shape_of
from usmp.relax.static_shapes import has_static_shape


def dynamic_quantize_linear(node: OnnxNode) -> Expr:
    """Convert `DynamicQuantizeLinear`, with scale 1 if all elements are 0: TVM's divides by 0."""
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


def product_of_integers(node: OnnxNode) -> Expr | None:
    """Convert `MatMulInteger` of matrices with one zero point, or one for each column of the
    weight. The weight stays stored as integers. TVM converts vectors and other zero points."""
    left, right = node.required(0), node.required(1)
    first, second = (_zero_point(node, index) for index in (0, 1))
    columns = int(right.ty.shape[-1]) if right.ty.shape else 0
    is_plain = min(len(left.ty.shape), len(right.ty.shape)) >= 2 and has_static_shape(left.ty)
    if not is_plain or not has_static_shape(right.ty) or first is None or second is None:
        return None
    if _count(first) != 1 or _count(second) not in (1, columns):
        return None
    return integer_products.matmul(node.builder, left, right, first, second)


def convolution_of_integers(node: OnnxNode) -> Expr:
    """Convert `ConvInteger` to a 32-bit convolution of integers minus their zero points."""
    data, weight = node.required(0), node.required(1)
    kernel = shape_of(weight)[2:]
    rank = len(kernel)
    if rank < 1 or len(shape_of(data)) != rank + 2:
        raise NotSupported("data and weight must have the same number of axes, three or more")
    if node.text("auto_pad", "NOTSET") != "NOTSET":
        raise NotSupported("the padding is not known; export the model with explicit pads")
    named = {
        name: [int(v) for v in node.attributes.get(name, default)]
        for name, default in (
            ("strides", [1] * rank),
            ("dilations", [1] * rank),
            ("pads", [0] * 2 * rank),
            ("kernel_shape", kernel),
        )
    }
    groups, (outputs, depth) = int(node.attributes.get("group", 1)), shape_of(weight)[:2]
    is_known = (
        {len(named[name]) for name in ("strides", "dilations", "kernel_shape")} == {rank}
        and len(named["pads"]) == 2 * rank
        and named["kernel_shape"] == list(kernel)
        and min([1, *named["strides"], *named["dilations"]]) > 0
        and min([0, *named["pads"]]) >= 0
        and groups > 0
        and depth * groups == shape_of(data)[1]
        and outputs % groups == 0
    )
    if not is_known:
        raise NotSupported("its attributes do not belong to its shapes; export the model again")
    output = [
        (extent + before + after - (taps - 1) * dilation - 1) // stride + 1
        for extent, before, after, taps, dilation, stride in zip(
            shape_of(data)[2:],
            named["pads"][:rank],
            named["pads"][rank:],
            kernel,
            named["dilations"],
            named["strides"],
            strict=True,
        )
    ]
    first, second = (_zero_point(node, index) for index in (0, 1))
    if (
        first is None
        or second is None
        or not (_count(first) == 1 and _count(second) in (1, outputs))
    ):
        raise NotSupported("its zero points are neither one, nor one an output channel")
    slide = integer_products.Slide(
        named["strides"], named["dilations"], named["pads"][:rank], output
    )
    return integer_products.convolution(node.builder, data, weight, first, second, slide)


def _zero_point(node: OnnxNode, index: int) -> Expr | None:
    """Return the zero point of the left or right input as a vector, by default 0; None if it varies
    along other axes than the last one."""
    dtype, zero_point = dtype_of(node.required(index)), node.input(index + 2)
    if dtype not in ("int8", "uint8"):
        raise NotSupported(f"input {index} is {dtype}; it must be int8 or uint8")
    if zero_point is None:
        return relax.const(np.zeros(1, dtype))
    if dtype_of(zero_point) != dtype:
        raise NotSupported(f"input {index} and its zero point have two types")
    count = prod(shape_of(zero_point))
    if count != 1 and shape_of(zero_point)[-1] != count:
        return None
    return node.builder.emit(relax.op.reshape(zero_point, (count,)))


def _count(vector: Expr) -> int:
    return int(vector.ty.shape[0])
