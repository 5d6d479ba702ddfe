"""TRANSPOSE_CONV on floats: the bytes of tflite-micro."""

import numpy as np
import pytest

import usmp
from support.micro import assert_equals_micro
from support.quantized_models.model import ACTIVATIONS, PADDINGS
from support.tflite_builder import Graph, options, write_model
from usmp.frontend.tflite.importer import import_tflite

CASES = {
    "same": ((3, 3), (2, 2), "SAME", (8, 10), "NONE", True),
    "valid": ((3, 2), (2, 3), "VALID", (9, 14), "NONE", True),
    "kernel_of_stride": ((2, 2), (2, 2), "VALID", (8, 10), "RELU", True),
    "stride_1": ((3, 3), (1, 1), "SAME", (4, 5), "RELU6", False),
    "large_kernel": ((5, 4), (2, 2), "SAME", (8, 10), "RELU_N1_TO_1", False),
}


def transposed(kernel, stride, padding, output, activation, has_bias) -> bytes:
    generator = np.random.default_rng(1)
    graph = Graph()
    x = graph.input((1, 4, 5, 3), "float32")
    shape = (1, *output, 2)
    inputs = [
        graph.constant(np.array(shape, np.int32)),
        graph.constant(generator.standard_normal((2, *kernel, 3)).astype(np.float32)),
        x,
    ]
    if has_bias:
        inputs.append(graph.constant(generator.standard_normal(2).astype(np.float32)))
    y = graph.tensor(shape, "float32")
    table = options(
        "TransposeConvOptions",
        padding=PADDINGS[padding],
        stride_h=stride[0],
        stride_w=stride[1],
        fused_activation_function=ACTIVATIONS[activation],
    )
    graph.operator("TRANSPOSE_CONV", inputs, [y], table)
    graph.output(y)
    return write_model(graph)


@pytest.mark.models
@pytest.mark.parametrize("name", CASES)
def test_sums_are_those_of_tflite_micro(name):
    content = transposed(*CASES[name])
    assert_equals_micro(usmp.build(import_tflite(content)), content, runs=10)
