"""Models in place of that of examples/digits, where only its tensors or its kinds of operators
matter."""

from __future__ import annotations

import numpy as np

from support.tflite_builder import Graph, options, per_tensor, write_model


def small_digits(classes: int = 10, filters: int = 0) -> bytes:
    """One matrix product, with the tensors of digits; it compiles in a tenth of the time.

    Parameters
    ----------
    classes
        more of them make constants larger.
    filters
        of a convolution before it.
    """
    graph, pixels = Graph(), per_tensor(1 / 255, -128)
    generator = np.random.default_rng(0)
    image = graph.input((1, 8, 8, 1), "int8", pixels, "image")
    count, features = 64 * (filters or 1), image
    if filters:
        features = graph.tensor((1, 8, 8, filters), "int8", pixels)
        content = generator.integers(-127, 128, (filters, 3, 3, 1), np.int8)
        kernel = graph.constant(content, per_tensor(0.01))
        bias = graph.constant(np.zeros(filters, np.int32), per_tensor(0.01 / 255))
        table = options("Conv2DOptions", stride_h=1, stride_w=1, **_NO_DILATION)
        graph.operator("CONV_2D", [image, kernel, bias], [features], table)
    flat = graph.tensor((1, count), "int8", pixels)
    graph.operator("RESHAPE", [features, graph.constant(np.array([1, count], np.int32))], [flat])
    weights = graph.constant(
        generator.integers(-127, 128, (classes, count), np.int8), per_tensor(0.01)
    )
    bias = graph.constant(np.arange(classes, dtype=np.int32), per_tensor(0.01 / 255))
    scores = graph.tensor((1, classes), "int8", per_tensor(0.1, 3))
    table = options("FullyConnectedOptions")
    graph.operator("FULLY_CONNECTED", [flat, weights, bias], [scores], table)
    probabilities = graph.tensor(
        (1, classes), "int8", per_tensor(1 / 256, -128), name="probabilities"
    )
    table = options("SoftmaxOptions", beta=1.0)
    graph.operator("SOFTMAX", [scores], [probabilities], table)
    graph.output(probabilities)
    return write_model(graph)


def small_convolutions() -> bytes:
    """Three convolutions, of which streaming and overlaps make the memory smaller; it compiles in a
    third of the time of digits."""
    graph, quantization = Graph(), per_tensor(0.05, -3)
    generator = np.random.default_rng(0)
    tensor = graph.input((1, 8, 8, 2), "int8", quantization, "image")
    channels, rows = 2, 8
    for filters, stride in ((6, 1), (4, 2), (8, 1)):
        content = generator.integers(-127, 128, (filters, 3, 3, channels), np.int8)
        weights = graph.constant(content, per_tensor(0.01))
        bias = graph.constant(np.zeros(filters, np.int32), per_tensor(0.0005))
        channels, rows = filters, rows // stride
        read, tensor = tensor, graph.tensor((1, rows, rows, filters), "int8", quantization)
        table = options("Conv2DOptions", stride_h=stride, stride_w=stride, **_NO_DILATION)
        graph.operator("CONV_2D", [read, weights, bias], [tensor], table)
    flat = graph.tensor((1, 128), "int8", quantization)
    graph.operator("RESHAPE", [tensor, graph.constant(np.array([1, 128], np.int32))], [flat])
    probabilities = graph.tensor((1, 128), "int8", per_tensor(1 / 256, -128), name="probabilities")
    table = options("SoftmaxOptions", beta=1.0)
    graph.operator("SOFTMAX", [flat], [probabilities], table)
    graph.output(probabilities)
    return write_model(graph)


_NO_DILATION = {"dilation_h_factor": 1, "dilation_w_factor": 1}
