"""Float data and constant weights of integers: dynamic range and weight-only quantization."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random

import numpy as np

from support.operator_trials.tflite import windows
from support.operator_trials.tflite.draw import Draw, Model, describe, trial
from support.operator_trials.trial import Generator, Tolerance, Trial
from support.quantized_models.model import Constant, Spec, add_input, add_tensor
from support.tflite_builder import Graph, options, per_channel, per_tensor, write_model

WEIGHTS = {
    "CONV_2D": (1, 0),
    "DEPTHWISE_CONV_2D": (1, 3),
    "TRANSPOSE_CONV": (1, 0),
    "FULLY_CONNECTED": (1, 0),
    "BATCH_MATMUL": (1, None),
}
"""Operator -> the input that is the weight, and the axis of its output channels."""

_INT4 = ("CONV_2D", "FULLY_CONNECTED")
_SCALED_TO_THE_DATA = ("FULLY_CONNECTED", "BATCH_MATMUL")
_SUMS = Tolerance(1e-5, 1e-4)


def stored_weight_trial(random: Random) -> Trial:
    """One of the operators, with DEQUANTIZE before its weight or without."""
    draw = Draw(random, "float32")
    operator, dequantizes = draw.choice(list(WEIGHTS)), draw.flag(0.3)
    model = matmul(draw) if operator == "BATCH_MATMUL" else windows.DRAFTS[operator](draw)
    while not isinstance(model.inputs[1], Constant):
        model = windows.DRAFTS[operator](draw)
    inputs, fields = list(model.inputs), dict(model.options.fields)
    if operator in _SCALED_TO_THE_DATA:
        fields["asymmetric_quantize_inputs"] = draw.flag()
    axis = WEIGHTS[operator][1]
    if axis is None:
        axis = len(inputs[1].data.shape) - (2 if fields["adj_y"] else 1)
    shape, outputs = inputs[1].data.shape, list(model.outputs)
    if operator == "FULLY_CONNECTED":
        # LiteRT takes no shape from the file, but may find others.
        rows, before = math.prod(inputs[0].shape) // shape[1], inputs[0].shape[:-1]
        outputs = [outputs[0](*(before if fields["keep_num_dims"] else (rows,)), shape[0])]
    inputs[1] = integers(draw, shape, axis, operator, dequantizes)
    if dequantizes and draw.flag(0.3):
        inputs[1] = Constant(draw.generator.standard_normal(shape).astype(np.float16))
    table = options(model.options.table, **fields)
    stored = Model(inputs, outputs, table, model.limits, _SUMS, is_for_litert=True)
    how = f"{operator}{' of DEQUANTIZE' if dequantizes else ''} {describe(stored)}"
    content = write(operator, stored, dequantizes)
    return trial("STORED_WEIGHT", content, how, stored, random)


def integers(
    draw: Draw, shape: Sequence[int], axis: int, operator: str, dequantizes: bool
) -> Constant:
    """A weight, mostly with a scale for each channel."""
    dtype = "int4" if operator in _INT4 and draw.flag(0.3) else "int8"
    limit = 7 if dtype == "int4" else 127
    # Without -128, which LiteRT's kernels for x86 multiply wrongly by negative integers.
    data = draw.generator.integers(-limit, limit, shape, np.int8, endpoint=True)
    # LiteRT reads a scale for each channel there.
    is_per_channel = draw.flag(0.7) or operator == "DEPTHWISE_CONV_2D"
    scales = [draw.scale(0.3 / limit, 3 / limit) for _ in range(shape[axis])]
    if is_per_channel:
        return Constant(data, per_channel(scales, axis), dtype)
    zero_point = draw.number(-9, 9) if dequantizes and dtype == "int8" else 0
    return Constant(data, per_tensor(scales[0], zero_point), dtype)


def matmul(draw: Draw) -> Model:
    """A product with one matrix."""
    rows, inner, columns = (draw.number(1, 9) for _ in range(3))
    batches = tuple(draw.number(1, 3) for _ in range(draw.number(0, 1)))
    batches = (1,) * draw.number(0, 1) + batches
    adjoint = draw.flag(0.3), draw.flag()
    left = (*batches, *((inner, rows) if adjoint[0] else (rows, inner)))
    right = (columns, inner) if adjoint[1] else (inner, columns)
    right = (1,) * draw.number(0, len(batches)) + right
    table = options("BatchMatMulOptions", adj_x=adjoint[0], adj_y=adjoint[1])
    spec = Spec(left, 0, 0, "float32")
    return Model([spec, Constant(np.zeros(right, np.int8))], [spec(*batches, rows, columns)], table)


def write(operator: str, model: Model, dequantizes: bool) -> bytes:
    """The model file."""
    graph = Graph()
    arguments = [add_input(graph, value) for value in model.inputs]
    if dequantizes:
        real = graph.tensor(model.inputs[1].data.shape, "float32")
        graph.operator("DEQUANTIZE", [arguments[1]], [real], options("DequantizeOptions"))
        arguments[1] = real
    results = [add_tensor(graph, spec) for spec in model.outputs]
    graph.operator(operator, arguments, results, model.options)
    graph.output(*results)
    return write_model(graph)


GENERATORS: dict[str, Generator] = {"STORED_WEIGHT": stored_weight_trial}
