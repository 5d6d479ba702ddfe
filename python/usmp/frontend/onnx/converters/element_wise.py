"""Converters of element-wise ONNX operators."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import reduce

import numpy as np
from onnx import helper
from tvm import relax
from tvm.ir import Expr, GenericConst

from usmp.frontend.onnx.graph.node import Converter, NotSupported, OnnxNode
from usmp.ops.emit import dtype_of
from usmp.ops.real import bits
from usmp.ops.real.clamps import clamp
from usmp.ops.real.division import floor_mod
from usmp.ops.real.order import extreme_of_two
from usmp.tir.dtypes import is_float


def clip(node: OnnxNode) -> Expr | None:
    """Convert `Clip` with constant bounds to `R.clip` instead of two TIR functions."""
    data, *bounds = node.inputs
    limits = [float(node.attributes.get("min", -math.inf))]
    limits.append(float(node.attributes.get("max", math.inf)))
    for index, bound in enumerate(bounds):
        if bound is None:
            continue
        if not isinstance(bound, GenericConst):
            return None
        limits[index] = float(bound.value.numpy().item())
    if data is None or any(map(math.isnan, limits)) or dtype_of(data) != "float32":
        return None
    return clamp(data, *limits)


def of_each_input(operation: Callable[[Expr, Expr], Expr]) -> Converter:
    """Return a converter that reduces all inputs pairwise; TVM's concatenates all of them first."""

    def convert(node: OnnxNode) -> Expr:
        first, *others = (node.required(index) for index in range(len(node.inputs)))
        return reduce(lambda a, b: node.builder.emit(operation(a, b)), others, first)

    return convert


def mean(node: OnnxNode) -> Expr:
    """Convert `Mean` to a sum divided by the number of inputs."""
    total = of_each_input(relax.op.add)(node)
    return relax.op.divide(total, relax.const(len(node.inputs), dtype_of(node.required(0))))


def is_infinite(node: OnnxNode) -> Expr:
    """Convert `IsInf` with its selection of signs, because TVM's converter detects both signs."""
    data = node.required(0)
    signs = [
        np.array(sign * math.inf, dtype_of(data))
        for sign, name in ((-1, "detect_negative"), (1, "detect_positive"))
        if node.attributes.get(name, 1)
    ]
    if len(signs) == 2:
        return relax.op.isinf(data)
    if not signs:
        return relax.op.full_like(relax.op.isinf(data), relax.const(False, "bool"))
    return relax.op.equal(data, relax.const(signs[0]))


def thresholded_relu(node: OnnxNode) -> Expr:
    """Convert `ThresholdedRelu` to a select, because TVM multiplies by 0: infinity becomes NaN."""
    data = node.required(0)
    threshold = relax.const(node.attributes.get("alpha", 1.0), dtype_of(data))
    zero = relax.const(0, dtype_of(data))
    return relax.op.where(relax.op.greater(data, threshold), data, zero)


def celu(node: OnnxNode) -> Expr:
    """Convert `Celu` to max(0, x) + min(0, alpha * (exp(x / alpha) - 1))."""
    data, alpha = node.required(0), float(node.attributes.get("alpha", 1.0))
    if not is_float(dtype_of(data)):
        raise NotSupported(f"of {dtype_of(data)}; cast the input to float")
    if alpha == 0 or not math.isfinite(alpha):
        raise NotSupported(f"its alpha is {alpha}, by which elements are divided")
    emit, dtype = node.builder.emit, dtype_of(data)
    zero, one, factor = (relax.const(value, dtype) for value in (0.0, 1.0, alpha))
    grown = emit(relax.op.exp(emit(relax.op.divide(data, factor))))
    scaled = emit(relax.op.multiply(factor, emit(relax.op.subtract(grown, one))))
    negative = emit(extreme_of_two(scaled, zero, is_largest=False))
    return relax.op.add(emit(extreme_of_two(data, zero, is_largest=True)), negative)


def gemm(node: OnnxNode) -> OnnxNode | None:
    """Leave out the third input of `Gemm` if its factor is 0, because infinity times 0 is NaN."""
    if node.attributes.get("beta", 1.0) != 0 or node.input(2) is None:
        return None
    return replace(node, inputs=node.inputs[:2])


def shrink(node: OnnxNode) -> None:
    """Refuse `Shrink` of integers, to which TVM's converter would add a float bias."""
    if not is_float(dtype_of(node.required(0))):
        raise NotSupported(
            f"{dtype_of(node.required(0))} elements get a bias that is a float; cast them to float"
        )


def dropout(node: OnnxNode) -> Expr:
    """Convert `Dropout` for inference: data pass unchanged, and the mask is all true."""
    training = node.constant(2, "training_mode") if node.opset >= 12 else None
    if training is not None and training.any() and not _drops_nothing(node):
        raise NotSupported(
            "training_mode is true, and what is dropped would be random; export the model for "
            "inference"
        )
    data = node.required(0)
    if node.outputs == 1:
        return data
    if node.opset < 12:
        raise NotSupported("its mask is defined since opset 12; export to that opset")
    shape = [int(extent) for extent in data.ty.shape]
    return relax.Tuple([data, relax.const(np.ones(shape, bool))])


def _drops_nothing(node: OnnxNode) -> bool:
    ratio = node.input(1)
    return isinstance(ratio, GenericConst) and not ratio.value.numpy().any()


def power(node: OnnxNode) -> Expr:
    """Convert `Pow` of floats; the exponent is cast to the type of the base."""
    base, exponent = node.required(0), node.required(1)
    if not is_float(dtype_of(base)):
        raise NotSupported(f"its base is {dtype_of(base)}; cast it to float")
    if isinstance(exponent, GenericConst):
        exponent = relax.const(exponent.value.numpy(), dtype_of(base))
    elif dtype_of(exponent) != dtype_of(base):
        exponent = relax.op.astype(exponent, dtype_of(base))
    return relax.op.power(base, exponent)


def divide(node: OnnxNode) -> None:
    """Refuse `Div` of integers by a constant 0; TVM converts other divisions."""
    _check_divisor(node.required(1))


def _check_divisor(divisor: Expr) -> None:
    if not isinstance(divisor, GenericConst) or is_float(dtype_of(divisor)):
        return
    if not divisor.value.numpy().all():
        raise NotSupported(
            f"its divisor is a constant with a 0, by which no {dtype_of(divisor)} element can be "
            "divided; replace it by another number, or divide floats"
        )


def modulo(node: OnnxNode) -> Expr | None:
    """Convert `Mod` of floats with the sign of the divisor (since opset 28), from the exact
    remainder as in Python. TVM converts the other forms."""
    data, divisor = node.required(0), node.required(1)
    _check_divisor(divisor)
    if not is_float(dtype_of(data)) or node.attributes.get("fmod", 0):
        return None
    if node.opset < 28:
        raise NotSupported("of floats, fmod must be 1 before opset 28")
    return floor_mod(node.builder, data, divisor, sign_of_zero="divisor")


def bit_shift(node: OnnxNode) -> Expr | None:
    """Convert `BitShift` of opset 28, which has signed elements; a negative or too large amount
    shifts all bits out."""
    if node.opset < 28:
        return None
    is_left = node.text("direction", "") == "LEFT"
    return bits.shift_by_any(node.builder, node.required(0), node.required(1), is_left=is_left)


def bit_cast(node: OnnxNode) -> Expr:
    """Convert `BitCast` between types of equal width."""
    data = node.required(0)
    dtype = str(helper.tensor_dtype_to_np_dtype(int(node.attributes["to"])))
    if dtype_of(data) in ("float16", "bfloat16"):
        raise NotSupported(
            f"the bits of {dtype_of(data)} elements cannot be read; end the model before it, and "
            "read the bytes as the other type"
        )
    if dtype == "bool" or np.dtype(dtype).itemsize != np.dtype(dtype_of(data)).itemsize:
        raise NotSupported(f"{dtype_of(data)} elements have no bits of {dtype}")
    return bits.bit_cast(node.builder, data, dtype)
