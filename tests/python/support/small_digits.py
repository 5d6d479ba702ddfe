"""A model in place of that of examples/digits, where only its tensors matter."""

from __future__ import annotations

import numpy as np

from support.tflite_builder import Graph, options, per_tensor, write_model


def small_digits() -> bytes:
    """One matrix product, with the tensors of digits; it compiles in a tenth of the time."""
    graph, pixels = Graph(), per_tensor(1 / 255, -128)
    generator = np.random.default_rng(0)
    image = graph.input((1, 8, 8, 1), "int8", pixels, "image")
    flat = graph.tensor((1, 64), "int8", pixels)
    graph.operator("RESHAPE", [image, graph.constant(np.array([1, 64], np.int32))], [flat])
    weights = graph.constant(generator.integers(-127, 128, (10, 64), np.int8), per_tensor(0.01))
    bias = graph.constant(np.arange(10, dtype=np.int32), per_tensor(0.01 / 255))
    scores = graph.tensor((1, 10), "int8", per_tensor(0.1, 3))
    table = options("FullyConnectedOptions")
    graph.operator("FULLY_CONNECTED", [flat, weights, bias], [scores], table)
    probabilities = graph.tensor((1, 10), "int8", per_tensor(1 / 256, -128), name="probabilities")
    table = options("SoftmaxOptions", beta=1.0)
    graph.operator("SOFTMAX", [scores], [probabilities], table)
    graph.output(probabilities)
    return write_model(graph)
