"""Padding modes and vectors of one quantization parameter, in the one form that TVM takes right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import usmp
from support.lazy import lazy
from support.onnx_models import Graph, Reference

onnx = lazy("onnx")
fold_shape_arithmetic = lazy("usmp.frontend.onnx.rewrites.fold:fold_shape_arithmetic")
import_onnx = lazy("usmp.frontend.onnx.importer:import_onnx")
normalize_onnx = lazy("usmp.frontend.onnx.rewrites.normalize:normalize_onnx")
same_padding = lazy("usmp.frontend.onnx.rewrites.normalize:same_padding")

pytestmark = pytest.mark.models


def normalized(graph: Graph) -> onnx.GraphProto:
    model = fold_shape_arithmetic(graph.proto("y"))
    normalize_onnx(model)
    onnx.checker.check_model(model)
    return model.graph


def attributes_of(node: onnx.NodeProto) -> dict:
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


@pytest.mark.parametrize(
    ("extent", "kernel", "stride", "dilation", "lower", "pads"),
    [
        (8, 3, 1, 1, False, [1, 1]),
        (8, 3, 2, 1, False, [0, 1]),
        (8, 3, 2, 1, True, [1, 0]),
        (7, 3, 2, 1, False, [1, 1]),
        (7, 2, 1, 3, False, [1, 2]),
        (7, 1, 2, 1, False, [0, 0]),
    ],
)
def test_same_padding(extent, kernel, stride, dilation, lower, pads):
    assert same_padding([extent], [kernel], [stride], [dilation], lower) == pads


def pooled_or_convolved(operator: str, mode: str, extents=(7, 8), **attributes) -> Graph:
    graph = Graph()
    x = graph.input("x", [1, 2, *extents])
    if operator == "Conv":
        inputs = [x, graph.weight(3, 2, 3, 2)]
    else:
        inputs, attributes = [x], {"kernel_shape": [3, 2], **attributes}
    graph.node(operator, *inputs, outputs=["y"], auto_pad=mode, **attributes)
    return graph


@pytest.mark.parametrize(
    ("mode", "pads"),
    [("SAME_UPPER", [1, 0, 1, 0]), ("SAME_LOWER", [1, 0, 1, 0]), ("VALID", [0, 0, 0, 0])],
)
def test_mode_becomes_pads(mode, pads):
    (node,) = normalized(pooled_or_convolved("MaxPool", mode, strides=[2, 2])).node
    assert attributes_of(node) == {"kernel_shape": [3, 2], "strides": [2, 2], "pads": pads}


@pytest.mark.parametrize("mode", ["SAME_UPPER", "SAME_LOWER", "VALID"])
@pytest.mark.parametrize("operator", ["Conv", "MaxPool", "AveragePool"])
@pytest.mark.parametrize("strides", [[1, 1], [2, 2]], ids=str)
def test_padded_operators_are_like_the_reference(operator, mode, strides):
    content = pooled_or_convolved(operator, mode, strides=strides).model("y")
    reference = Reference(content)
    inputs = reference.random_inputs(0)
    outputs = usmp.build(import_onnx(content, Path("."))).run(inputs)
    expected = reference.run(inputs)["y"]
    assert outputs["y"].shape == expected.shape
    np.testing.assert_allclose(outputs["y"], expected, rtol=1e-5, atol=1e-6)


def test_parameters_of_one_element_become_scalars():
    graph = Graph()
    x = graph.quantize(graph.input("x", [2, 3]), [0.5], [7])
    graph.node("DequantizeLinear", x, "constant_0", "constant_1", outputs=["y"])
    result = normalized(graph)
    shapes = {tensor.name: list(tensor.dims) for tensor in result.initializer}
    assert [[shapes[name] for name in node.input[1:]] for node in result.node] == [[[], []]] * 2
    assert shapes.keys() == {
        "constant_0",
        "constant_1",
        "constant_0_scalar",
        "constant_1_scalar",
    }
