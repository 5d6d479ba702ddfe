"""Channels whose factor is 0, as converters write those that training left unused."""

from __future__ import annotations

import numpy as np
import pytest

import usmp
from support.micro import Micro
from support.quantized_models.model import ACTIVATIONS, Constant, Spec
from support.tflite_builder import Graph, options, per_channel, per_tensor, write_model
from support.tflite_refusals import refusal
from usmp.frontend.tflite.importer import import_tflite

pytestmark = pytest.mark.models

DEAD = 1e-21
"""A scale of such weights."""

OPERATORS = {
    "CONV_2D": ((4, 3, 3, 4), 0, options("Conv2DOptions", padding=0, stride_h=1, stride_w=1)),
    "DEPTHWISE_CONV_2D": (
        (1, 3, 3, 4),
        3,
        options("DepthwiseConv2DOptions", padding=0, stride_h=1, stride_w=1, depth_multiplier=1),
    ),
    "FULLY_CONNECTED": (
        (4, 4),
        0,
        options("FullyConnectedOptions", fused_activation_function=ACTIVATIONS["RELU"]),
    ),
    "TRANSPOSE_CONV": (
        (4, 3, 3, 4),
        0,
        options("TransposeConvOptions", padding=0, stride_h=1, stride_w=1),
    ),
}
"""Operator -> shape of the weight, axis of its channels, options."""


def add_operator(graph, code, x, dtype, name):
    """Append an operator with channels of which two are dead, and declare its output."""
    shape, axis, table = OPERATORS[code]
    result = (25, 4) if code == "FULLY_CONNECTED" else (1, 5, 5, 4)
    scales = per_channel([0.01, DEAD, 0.02, DEAD], axis)
    weight = graph.constant(np.full(shape, 127, np.int8), scales)
    wide = "int64" if dtype == "int16" else "int32"
    least, greatest = (-(2**31) + 1, 2**31 - 1) if dtype == "int8" else (-(2**50), 2**50)
    values = np.array([-100, least, 50, greatest], wide)
    bias = graph.constant(values, per_channel([0.01, DEAD, 0.01, DEAD], 0))
    after = per_tensor(0.5, -11 if dtype == "int8" else 0)
    output = graph.tensor(result, dtype, after, name=name)
    inputs = [x, weight, bias]
    if code == "TRANSPOSE_CONV":
        inputs = [graph.constant(np.array(result, np.int32)), weight, x, bias]
    graph.operator(code, inputs, [output], table)
    graph.output(output)


@pytest.mark.slow
def test_their_output_is_zero():
    graph = Graph()
    images = {
        "int8": graph.input((1, 5, 5, 4), "int8", per_tensor(0.02, 7), name="x"),
        "int16": graph.input((1, 5, 5, 4), "int16", per_tensor(1e-3), name="y"),
    }
    for dtype, x in images.items():
        for code in OPERATORS if dtype == "int8" else ("CONV_2D", "DEPTHWISE_CONV_2D"):
            add_operator(graph, code, x, dtype, f"{code} {dtype}")
    content = write_model(graph)
    micro = Micro(content)
    inputs = micro.random_inputs(3)
    outputs = usmp.build(import_tflite(content)).run(inputs)
    for name, expected in micro.run(inputs).items():
        np.testing.assert_array_equal(outputs[name], expected, name, strict=True)
        assert {*expected[..., [1, 3]].ravel().tolist()} == {-11 if "int8" in name else 0}
        assert len(np.unique(expected[..., [0, 2]])) > 2


def test_others_may_not_leave_32_bits():
    weight = Constant(np.ones((2, 3), np.int8), per_channel([0.1, DEAD], 0))
    bias = Constant(np.array([-(2**31) + 1, 0], np.int32), per_channel([0.1, DEAD], 0))
    data, result = Spec((1, 3), 1.0, 0), Spec((1, 2), 1.0, 0)
    message = refusal(
        "FULLY_CONNECTED", [data, weight, bias], result, OPERATORS["FULLY_CONNECTED"][2]
    )
    assert message == ("its accumulators could reach -2147484031 or 0, more than 32 bits hold")
