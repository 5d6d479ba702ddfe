"""Operators that make integers of floats, and back."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import numpy as np

from support.operator_trials.onnx.one_node import MICROSOFT, Operand, node_trial, opset_of
from support.operator_trials.onnx.samples import axis_of, constant, shape_of, values
from support.operator_trials.trial import Generator, Trial


def _parameters(random: Random, opset: int, shape: list[int], dtype: str) -> tuple[Any, Any, Any]:
    """Scale, zero point and axis: of the tensor, or of the slices along an axis."""
    axis = None
    extents: list[int] = []
    if opset >= 13 and len(shape) > 1 and random.random() < 0.4:
        axis = axis_of(random, len(shape))
        extents = [shape[axis]]
    scale = constant(random, "float32", extents, 0.01, 0.3)
    zero_point = constant(random, dtype, extents, -20, 100)
    if dtype == "int32":
        zero_point = np.zeros_like(zero_point)
    return scale, zero_point, axis


def _blocks(random: Random, shape: list[int], dtype: str) -> tuple[Any, Any, dict[str, int]]:
    """Scale and zero point of the blocks along an axis."""
    axis, size = axis_of(random, len(shape)) % len(shape), random.randint(1, 4)
    extents = [*shape]
    extents[axis] = -(-shape[axis] // size)
    scale = constant(random, "float32", extents, 0.01, 0.3)
    given = axis - len(shape) if random.random() < 0.3 else axis
    return scale, constant(random, dtype, extents, -20, 100), {"axis": given, "block_size": size}


NEWEST_OF_ONNXRUNTIME = 26
"""The newest opset of which it has kernels."""


def quantize_linear(random: Random) -> Trial:
    opset = opset_of(random, "QuantizeLinear")
    types = ["int8", "uint8"] + (["int16", "uint16"] if opset >= 21 else [])
    dtype, shape = random.choice(types), shape_of(random, 1)
    scale, zero_point, axis = _parameters(random, opset, shape, dtype)
    leaves_out = dtype == "uint8" and random.random() < 0.3
    if opset >= 21 and random.random() < 0.4:
        scale, zero_point, blocks = _blocks(random, shape, dtype)
        x = values("float32", shape, -30, 30, [float(scale.flat[0]) * 2.5])
        return node_trial(random, "QuantizeLinear", [x, scale, zero_point], opset, **blocks)
    step = float(scale.flat[0])
    # Values between two integers, to which side they go.
    ties = [step * (i + 0.5) for i in range(-4, 4)]
    # onnxruntime saturates; of later opsets there is ONNX's evaluator only, which wraps.
    far = 1e9 if opset <= NEWEST_OF_ONNXRUNTIME else 1e6
    operands: list[Operand] = [values("float32", shape, -30, 30, [*ties, far, -far]), scale]
    operands += [] if leaves_out else [zero_point]
    return node_trial(random, "QuantizeLinear", operands, opset, axis=axis)


def dequantize_linear(random: Random) -> Trial:
    opset = opset_of(random, "DequantizeLinear")
    types = ["int8", "uint8", "int32"] + (["int16", "uint16"] if opset >= 21 else [])
    dtype, shape = random.choice(types), shape_of(random, 1)
    scale, zero_point, axis = _parameters(random, opset, shape, dtype)
    attributes: dict[str, Any] = {"axis": axis}
    stored: Operand = values(dtype, shape)
    if opset >= 21 and dtype != "int32" and random.random() < 0.4:
        scale, zero_point, attributes = _blocks(random, shape, dtype)
        stored = random.choice([stored, constant(random, dtype, shape)])
    operands: list[Operand] = [stored, scale]
    operands += [] if random.random() < 0.3 else [zero_point]
    return node_trial(random, "DequantizeLinear", operands, opset, **attributes)


def dynamic_quantize_linear(random: Random) -> Trial:
    opset = opset_of(random, "DynamicQuantizeLinear")
    low, high = random.choice([(-5, 5), (1, 9), (-9, -1), (0, 0)])
    x = values("float32", shape_of(random, 1), low, high)
    return node_trial(random, "DynamicQuantizeLinear", [x], opset, 3)


def microsoft_quantize_linear(random: Random) -> Trial:
    """Which had integers of 16 bits before those of ONNX."""
    dtype, shape = random.choice(["int8", "uint8", "int16", "uint16"]), shape_of(random, 1)
    scale, zero_point, _ = _parameters(random, 0, shape, dtype)
    step = float(scale.flat[0])
    ties = [step * (i + 0.5) for i in range(-4, 4)]
    operands: list[Operand] = [values("float32", shape, -30, 30, ties), scale, zero_point]
    return node_trial(
        random, "QuantizeLinear", operands, 17, domain=MICROSOFT, output_types=[dtype]
    )


def microsoft_dequantize_linear(random: Random) -> Trial:
    dtype, shape = random.choice(["int8", "uint8", "int16", "uint16"]), shape_of(random, 1)
    scale, zero_point, _ = _parameters(random, 0, shape, dtype)
    operands: list[Operand] = [values(dtype, shape), scale, zero_point]
    return node_trial(
        random, "DequantizeLinear", operands, 17, domain=MICROSOFT, output_types=["float32"]
    )


GENERATORS: Mapping[str, Generator] = {
    "QuantizeLinear": quantize_linear,
    "DequantizeLinear": dequantize_linear,
    "DynamicQuantizeLinear": dynamic_quantize_linear,
    f"{MICROSOFT}.QuantizeLinear": microsoft_quantize_linear,
    f"{MICROSOFT}.DequantizeLinear": microsoft_dequantize_linear,
}
