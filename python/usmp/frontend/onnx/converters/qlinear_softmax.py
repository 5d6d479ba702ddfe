"""Converter of onnxruntime's `QLinearSoftmax`, with the table of exponentials of its kernel."""

from __future__ import annotations

import math
from math import prod

import numpy as np
from tvm import relax
from tvm.ir import Expr

from usmp.frontend.onnx.graph.axes import axis_of
from usmp.frontend.onnx.graph.node import NotSupported, OnnxNode
from usmp.ops.emit import dtype_of

_FIRST_OPSET_OF_ONE_AXIS = 13
_SPARE = 5.0
"""Margin between the logarithms of the largest sum and of the largest float32."""


def qlinear_softmax(node: OnnxNode) -> Expr:
    """Convert `QLinearSoftmax` over an axis; before opset 13, over this axis and all after it.

    Elements become exponentials of their distance from the maximum, from a table. Quotients by the
    sum are multiplied by floor(1 / output scale). Source: onnxruntime,
    contrib_ops/cpu/quantization/qlinear_softmax.cc.
    """
    data, builder = node.required(0), node.builder
    dtype, shape = dtype_of(data), [int(extent) for extent in data.ty.shape]
    if dtype not in ("int8", "uint8") or not shape:
        raise NotSupported(f"its input is {dtype}{shape}; it must be a tensor of int8 or uint8")
    scale, steps = (
        _parameter(node, index, name) for index, name in ((1, "X_scale"), (3, "Y_scale"))
    )
    zero_point = 0 if node.input(4) is None else int(_parameter(node, 4, "Y_zero_point"))
    is_joined = int(node.attributes.get("opset", 0)) < _FIRST_OPSET_OF_ONE_AXIS
    axis = int(node.attributes.get("axis", 1 if is_joined else -1))
    axis = axis_of(axis, len(shape))
    rows = [prod(shape[:axis]), prod(shape[axis:])] if is_joined else shape
    over = 1 if is_joined else axis
    table = relax.const(_exponentials(scale, rows[over]))
    wide = builder.emit(relax.op.reshape(relax.op.astype(data, "int32"), rows))
    greatest = builder.emit(relax.op.max(wide, [over], keepdims=True))
    index = relax.op.add(relax.op.subtract(wide, greatest), relax.const(255, "int32"))
    powers = builder.emit(relax.op.take(table, builder.emit(index), axis=0, mode="clip"))
    total = builder.emit(relax.op.sum(powers, [over], keepdims=True))
    numerator = relax.op.multiply(powers, relax.const(np.floor(np.float32(1) / np.float32(steps))))
    info = np.iinfo(dtype)
    rounded = relax.op.round(relax.op.divide(numerator, total))
    limited = relax.op.clip(rounded, 0, int(info.max) - zero_point)
    whole = relax.op.add(relax.op.astype(limited, "int32"), relax.const(zero_point, "int32"))
    return relax.op.reshape(relax.op.astype(whole, dtype), shape)


def _parameter(node: OnnxNode, index: int, name: str) -> float:
    values = node.constant(index, name)
    if values is None or values.size != 1 or not np.isfinite(values).all():
        raise NotSupported(f"{name} must be one number")
    value = float(values.reshape(()))
    if not value > 0 and name.endswith("scale"):
        raise NotSupported(f"{name} is {value}; it must be positive")
    return value


def _exponentials(scale: float, count: int) -> np.ndarray:
    """Return a table (256) of exp(scale * (i - 255)) as float32, for the distance 255 - i from the
    maximum. All entries are scaled up, as far as a sum of `count` entries does not overflow."""
    largest = math.log(float(np.finfo(np.float32).max) / count)
    shift = max(0.0, largest - _SPARE) / scale
    powers = [math.exp((index - 255 + shift) * scale) for index in range(256)]
    return np.array(powers, np.float32)
