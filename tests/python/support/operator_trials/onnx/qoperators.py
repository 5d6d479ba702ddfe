"""Quantized operators: integers with their scales and zero points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import prod
from random import Random
from typing import Any

import numpy as np

from support.lazy import lazy
from support.operator_trials.onnx.one_node import (
    MICROSOFT,
    Operand,
    Varied,
    graph_trial,
    input_names,
    node_trial,
    opset_of,
)
from support.operator_trials.onnx.products import SUMS, window_attributes
from support.operator_trials.onnx.samples import (
    axis_of,
    broadcast_of,
    constant,
    either,
    shape_of,
    values,
)
from support.operator_trials.trial import Generator, Trial

helper = lazy("onnx.helper")

NEWEST = 17
TYPES = ("int8", "uint8")
_RMS = 74.0
"""Of integers of 8 bits, each as likely as any other."""


def scale_of(random: Random, typical: float = 0.05) -> np.ndarray:
    """A scale; now and then a power of two, by which many results are halves."""
    if random.random() < 0.2:
        return np.array(2.0 ** round(np.log2(typical)), np.float32)
    return np.array(typical * random.uniform(0.3, 2), np.float32)


def zero_point_of(random: Random, dtype: str) -> np.ndarray:
    info = np.iinfo(dtype)
    chosen = random.choice([info.min, info.max, 0, (info.min + info.max + 1) // 2, None])
    return np.array(random.randint(info.min, info.max) if chosen is None else chosen, dtype)


def quantization(
    random: Random, dtype: str, typical: float = 0.05, is_scalar: bool = True
) -> list[Operand]:
    """A scale and a zero point, scalars or vectors of one element."""
    shape = [] if is_scalar else random.choice([[], [1]])
    return [scale_of(random, typical).reshape(shape), zero_point_of(random, dtype).reshape(shape)]


def weight(random: Random, data: str, shape: list[int], axis_shape: list[int]) -> list[Operand]:
    """A weight, its scales and zero points: of all of it, or of each channel. onnxruntime has no
    kernels of int8 data and uint8 weights."""
    dtype = random.choice(["int8", "int8", "uint8"]) if data == "uint8" else "int8"
    extents = random.choice([[], axis_shape])
    scales = constant(random, "float32", extents, 0.002, 0.02)
    if dtype == "int8":
        zero_points = np.zeros(extents, np.int8)
        if not extents and random.random() < 0.3:
            zero_points = zero_point_of(random, "int8")
    else:
        zero_points = np.full(extents, random.choice([128, random.randint(0, 255)]), np.uint8)
    low = -127 if dtype == "int8" else 0
    return [constant(random, dtype, shape, low, 255), scales, zero_points]


def output_scale(x: list[Operand], w: list[Operand], taps: int) -> float:
    """One at which outputs take the whole range."""
    assert isinstance(x[0], np.ndarray)
    assert isinstance(w[1], np.ndarray)
    return float(x[0].reshape(-1)[0] * np.mean(w[1]) * _RMS * _RMS * np.sqrt(taps) / _RMS)


def bias_of(random: Random, channels: int, taps: int) -> np.ndarray:
    most = int(_RMS * _RMS * np.sqrt(taps))
    return constant(random, "int32", [channels], -most, most)


def convolution_shapes(random: Random) -> tuple[list[int], list[int], dict[str, Any]]:
    """Shapes of data and weight, and attributes."""
    rank = random.choice([1, 2, 2, 2, 3])
    group = random.choice([1, 1, 2, 4])
    per_group = random.choice([1, 1, 2, 8])
    inputs, outputs = group * per_group, group * random.randint(1, 3)
    kernel = [random.randint(1, 3) for _ in range(rank)]
    dilations = [random.randint(1, 2) for _ in kernel]
    extents = [random.randint((k - 1) * d + 1, 8) for k, d in zip(kernel, dilations, strict=True)]
    attributes = window_attributes(random, "Conv", extents, kernel, dilations)
    if attributes["auto_pad"] in ("SAME_UPPER", "SAME_LOWER", "VALID"):
        dilations = [1] * rank
    attributes |= {
        "group": None if group == 1 else group,
        "dilations": dilations if max(dilations) > 1 else None,
        "kernel_shape": random.choice([None, kernel]),
    }
    data = [random.randint(1, 2), inputs, *extents]
    return data, [outputs, per_group, *kernel], attributes


def convolution(random: Random) -> Trial:
    data, shape, attributes = convolution_shapes(random)
    dtype = random.choice(TYPES)
    x = quantization(random, dtype, is_scalar=False)
    w = weight(random, dtype, shape, [shape[0]])
    taps = prod(shape[1:])
    y = quantization(random, dtype, output_scale(x, w, taps))
    operands = [values(dtype, data), *x, *w, *y]
    if random.random() < 0.7:
        operands.append(bias_of(random, shape[0], taps))
    opset = opset_of(random, "QLinearConv")
    return node_trial(random, "QLinearConv", operands, opset, **attributes)


def convolution_of_integers(random: Random) -> Trial:
    data, shape, attributes = convolution_shapes(random)
    left, right = random.choice(TYPES), random.choice(TYPES)
    operands: list[Operand] = [values(left, data), either(random, values(right, shape), 0.7)]
    points = [
        either(random, values(left, random.choice([[], [1]])), 0.5),
        either(random, values(right, random.choice([[], [1], [shape[0]]])), 0.5),
    ]
    operands += points[: random.randint(0, 2)]
    return node_trial(
        random, "ConvInteger", operands, opset_of(random, "ConvInteger"), **attributes
    )


def matrix_product(random: Random) -> Trial:
    dtype = random.choice(TYPES)
    depth, columns = random.randint(1, 40), random.randint(1, 6)
    x = quantization(random, dtype)
    if random.random() < 0.8:
        w = weight(random, dtype, [depth, columns], [columns])
        rows = shape_of(random, 1, 3, 5)
    else:
        batch = shape_of(random, 1, 2, 3)
        w = [values(dtype, [*batch, depth, columns]), *quantization(random, dtype, 0.01)]
        rows = [*batch, random.randint(1, 4)]
    y = quantization(random, dtype, output_scale(x, w, depth))
    operands = [values(dtype, [*rows, depth]), *x, *w, *y]
    opset = random.randint(10, 20)
    return node_trial(random, "QLinearMatMul", operands, opset, output_types=[dtype])


def gemm(random: Random) -> Trial:
    dtype = random.choice(TYPES)
    rows, depth, columns = (random.randint(1, n) for n in (4, 40, 6))
    trans_a, trans_b = random.choice([None, 0, 1]), random.choice([None, 0, 1])
    x = quantization(random, dtype)
    w = weight(random, dtype, [columns, depth] if trans_b else [depth, columns], [columns])
    y = quantization(random, dtype, output_scale(x, w, depth))
    bias = bias_of(random, columns, depth) if random.random() < 0.7 else None
    operands = [values(dtype, [depth, rows] if trans_a else [rows, depth]), *x, *w, bias]
    is_float = random.random() < 0.2
    return node_trial(
        random,
        "QGemm",
        operands if is_float else [*operands, *y],
        NEWEST,
        domain=MICROSOFT,
        tolerance=SUMS,
        output_types=["float32" if is_float else dtype],
        transA=trans_a,
        transB=trans_b,
        alpha=random.choice([None, 1.0, 1.0, 1.0, 0.5]),
    )


def _microsoft(
    random: Random, operator: str, operands: list[Operand], dtype: str, **attributes: Any
) -> Trial:
    return node_trial(
        random,
        operator,
        operands,
        NEWEST,
        domain=MICROSOFT,
        output_types=[dtype],
        **attributes,
    )


def of_two(operator: str, random: Random) -> Trial:
    dtype, shape = random.choice(TYPES), shape_of(random, 1, 4, 8)
    first, second = quantization(random, dtype), quantization(random, dtype)
    left = [values(dtype, shape), *first]
    other = either(random, values(dtype, broadcast_of(random, shape)), 0.3)
    right = [other, *second]
    typical = 0.05 if operator == "QLinearAdd" else 0.05 * 0.05 * 50
    operands = [*left, *right, *quantization(random, dtype, typical)]
    return _microsoft(random, operator, operands, dtype)


def where(random: Random) -> Trial:
    dtype, shape = random.choice(TYPES), shape_of(random, 1, 4, 8)
    operands: list[Operand] = [values("bool", shape)]
    for _ in range(2):
        operands += [values(dtype, shape), *quantization(random, dtype)]
    return _microsoft(random, "QLinearWhere", [*operands, *quantization(random, dtype)], dtype)


def of_one(operator: str, random: Random) -> Trial:
    dtype = random.choice(TYPES)
    alpha = None
    typical = 0.05
    if operator == "QLinearSigmoid":
        typical = 1 / 256
    else:
        alpha = random.choice([None, random.uniform(0, 1), 0.25])
    x = [_all_integers(dtype), *quantization(random, dtype)]
    operands = [*x, *quantization(random, dtype, typical)]
    return _microsoft(random, operator, operands, dtype, alpha=alpha)


def _all_integers(dtype: str) -> Varied:
    info = np.iinfo(dtype)
    return Varied(
        lambda generator: generator.permutation(np.arange(info.min, info.max + 1)).astype(dtype)
    )


def _uneven_scale(random: Random) -> np.ndarray:
    return np.array(random.uniform(0.02, 0.06), np.float32)


_NEAR = 3e-5
"""Two units in the last place of the floats between 128 and 256."""


def average_pool(random: Random) -> Trial:
    dtype = random.choice(TYPES)
    rank = random.choice([1, 2, 2])
    kernel = [random.randint(1, 4) for _ in range(rank)]
    extents = [random.randint(k, 9) for k in kernel]
    attributes = window_attributes(random, "AveragePool", extents, kernel, [1] * rank)
    strides = attributes["strides"] or [1] * rank
    if any(stride > taps for stride, taps in zip(strides, kernel, strict=True)):
        # onnxruntime cuts elements off there, where ONNX pads nothing.
        attributes["auto_pad"] = None
    attributes["count_include_pad"] = random.choice([None, 0, 1])
    shape = [random.randint(1, 2), random.randint(1, 5), *extents]
    window = {"kernel_shape": kernel, **attributes}
    while True:
        # At equal scales many means are halves.
        x, y = ([_uneven_scale(random), zero_point_of(random, dtype)] for _ in range(2))
        operands = [values(dtype, shape), *x, *y]
        trial = _microsoft(random, "QLinearAveragePool", operands, dtype, **window)
        if not _has_halves(trial, shape, window, x, y):
            return trial


def _has_halves(
    trial: Trial, shape: list[int], window: dict[str, Any], x: Sequence[Any], y: Sequence[Any]
) -> bool:
    """Whether a mean is so near to a half of a step that it goes either way where floats are added
    up, those of onnxruntime, with the zero point before it rounds."""
    means = node_trial(Random(0), "AveragePool", [values("float32", shape)], 17, **window)
    for run in trial.runs:
        centered = run["x0"].astype(np.float32) - x[1].astype(np.float32)
        (mean,) = means.reference({"x0": centered})
        steps = mean.astype(np.float64) * (float(x[0]) / float(y[0]))
        if (np.abs(steps - np.floor(steps) - 0.5) < _NEAR).any():
            return True
    return False


def global_average_pool(random: Random) -> Trial:
    dtype = random.choice(TYPES)
    x = quantization(random, dtype)
    y = x if random.random() < 0.3 else quantization(random, dtype, 0.02)
    shape = [random.randint(1, 3), random.randint(1, 20), *shape_of(random, 2, 2, 8)]
    operands = [values(dtype, shape), *x, *y]
    last = random.choice([None, 0, 0, 1])
    return _microsoft(random, "QLinearGlobalAveragePool", operands, dtype, channels_last=last)


def concatenation(random: Random) -> Trial:
    dtype, shape = random.choice(TYPES), shape_of(random, 1, 4, 6)
    axis = axis_of(random, len(shape))
    y = quantization(random, dtype)
    operands = list(y)
    for _ in range(random.randint(1, 4)):
        extents = list(shape)
        extents[axis] = random.randint(1, 5)
        same = y if random.random() < 0.3 else quantization(random, dtype)
        operands += [either(random, values(dtype, extents), 0.2), *same]
    if not any(isinstance(operand, Varied) for operand in operands):
        operands[2] = values(dtype, [*np.shape(operands[2])])
    return _microsoft(random, "QLinearConcat", operands, dtype, axis=axis)


def softmax(random: Random) -> Trial:
    # Of a single element, onnxruntime's float overflows.
    dtype, shape = random.choice(TYPES), [random.randint(2, 12) for _ in shape_of(random, 1, 3)]
    lowest = np.iinfo(dtype).min
    steps = 255 if dtype == "int8" else random.choice([255, 256])
    y: list[Operand] = [np.array(1 / steps, np.float32), np.array(lowest, dtype)]
    x = [values(dtype, shape), *quantization(random, dtype)]
    operands = [*x, *y]
    attributes = {"axis": axis_of(random, len(shape)), "opset": random.choice([11, 13, 13])}
    node = helper.make_node(
        "QLinearSoftmax", input_names(operands), ["y"], domain=MICROSOFT, **attributes
    )
    name = f"{MICROSOFT}.QLinearSoftmax"
    return graph_trial(
        random, name, [node], operands, ["y"], NEWEST, str(attributes), output_types=[dtype]
    )


def product_to_float(random: Random) -> Trial:
    left, right = random.choice(["uint8", "int8"]), random.choice(TYPES)
    depth, columns = random.randint(1, 40), random.randint(1, 6)
    channels = random.choice([[1], [columns]])
    operands: list[Operand] = [
        values(left, [*shape_of(random, 1, 3, 4), depth]),
        constant(random, right, [depth, columns]),
        np.array([0.03], np.float32),
        constant(random, "float32", channels, 0.01, 0.1),
        zero_point_of(random, left).reshape(1) if random.random() < 0.7 else None,
        constant(random, right, channels) if random.random() < 0.7 else None,
        constant(random, "float32", [columns]) if random.random() < 0.7 else None,
    ]
    return _microsoft(random, "MatMulIntegerToFloat", operands, "float32")


def dynamic_product(random: Random) -> Trial:
    right = random.choice(TYPES)
    depth, columns = random.randint(1, 40), random.randint(1, 6)
    channels = random.choice([[1], [columns]])
    operands: list[Operand] = [
        values("float32", [*shape_of(random, 1, 3, 4), depth]),
        constant(random, right, [depth, columns]),
        constant(random, "float32", channels, 0.01, 0.1),
        constant(random, right, channels) if random.random() < 0.7 else None,
        constant(random, "float32", [columns]) if random.random() < 0.7 else None,
    ]
    return _microsoft(random, "DynamicQuantizeMatMul", operands, "float32")


_MICROSOFT: Mapping[str, Generator] = {
    "QGemm": gemm,
    "QLinearWhere": where,
    "QLinearAveragePool": average_pool,
    "QLinearGlobalAveragePool": global_average_pool,
    "QLinearConcat": concatenation,
    "QLinearSoftmax": softmax,
    "MatMulIntegerToFloat": product_to_float,
    "DynamicQuantizeMatMul": dynamic_product,
    **{name: partial(of_two, name) for name in ("QLinearAdd", "QLinearMul")},
    **{name: partial(of_one, name) for name in ("QLinearSigmoid", "QLinearLeakyRelu")},
}

GENERATORS: Mapping[str, Generator] = {
    "QLinearConv": convolution,
    "QLinearMatMul": matrix_product,
    "ConvInteger": convolution_of_integers,
    **{f"{MICROSOFT}.{name}": generator for name, generator in _MICROSOFT.items()},
}
