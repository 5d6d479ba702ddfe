"""Arithmetic on shapes in ONNX graphs becomes constants; quantized constants stay."""

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

pytestmark = pytest.mark.models


def folded(graph: Graph, *outputs: str) -> list[str]:
    """The operators that are left."""
    model = fold_shape_arithmetic(graph.proto(*outputs))
    onnx.checker.check_model(model)
    return [node.op_type for node in model.graph.node]


def check_like_reference(content: bytes) -> None:
    reference = Reference(content)
    inputs = reference.random_inputs(0)
    outputs = usmp.build(import_onnx(content, Path("."))).run(inputs)
    for name, value in reference.run(inputs).items():
        np.testing.assert_allclose(outputs[name], value, rtol=1e-5, atol=1e-6)


def flatten_by_shape() -> Graph:
    """`x.reshape(x.shape[0], -1)` as PyTorch writes it."""
    graph = Graph()
    x = graph.node("Relu", graph.input("x", [2, 3, 4]))
    extent = graph.node("Gather", graph.node("Shape", x), graph.constant(0, np.int64), axis=0)
    extent = graph.node("Unsqueeze", extent, graph.constant([0], np.int64))
    rest = graph.node("Constant", value_ints=[-1])
    graph.node("Reshape", x, graph.node("Concat", extent, rest, axis=0), outputs=["y"])
    return graph


def test_reshape_to_a_computed_shape():
    assert folded(flatten_by_shape(), "y") == ["Relu", "Reshape"]
    check_like_reference(flatten_by_shape().model("y"))


def test_shape_known_only_after_a_first_round():
    graph = flatten_by_shape()
    shape = graph.node("Shape", "y")
    graph.node("Expand", graph.constant([[1]], np.float32), shape, outputs=["ones"])
    graph.node("Add", "y", "ones", outputs=["z"])
    assert folded(graph, "z") == ["Relu", "Reshape", "Add"]
    check_like_reference(graph.model("z"))


def test_sizes_of_resize_computed_in_float():
    graph = Graph()
    x = graph.input("x", [1, 2, 4, 6])
    shape = graph.node("Cast", graph.node("Shape", x), to=onnx.TensorProto.FLOAT)
    scaled = graph.node("Mul", shape, graph.constant([1, 1, 2, 2], np.float32))
    sizes = graph.node("Cast", graph.node("Floor", scaled), to=onnx.TensorProto.INT64)
    graph.node(
        *("Resize", x, "", "", sizes),
        outputs=["y"],
        mode="nearest",
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    )
    assert folded(graph, "y") == ["Resize"]
    check_like_reference(graph.model("y"))


def test_nodes_that_no_output_needs_are_dropped():
    graph = Graph()
    x = graph.input("x", [2])
    graph.node("NoSuchOperator", x)
    graph.node("Relu", x, outputs=["y"])
    assert folded(graph, "y") == ["Relu"]


def test_quantized_constants_stay_quantized():
    graph = Graph()
    bias = graph.dequantize(graph.constant([1, 2], np.int32), 0.5, 0, "int32")
    weight = graph.dequantize(graph.constant([1, 2], np.int8), 0.5, 0)
    x = graph.node("Mul", graph.input("x", [2]), weight)
    graph.node("Add", x, bias, outputs=["y"])
    assert folded(graph, "y") == ["DequantizeLinear", "DequantizeLinear", "Mul", "Add"]


@pytest.mark.parametrize("operator", ["ConstantOfShape", "Expand"])
def test_large_constants_are_not_made(operator):
    graph = Graph()
    shape = graph.constant([33, 32], np.int64)
    inputs = [shape] if operator == "ConstantOfShape" else [graph.constant(1, np.float32), shape]
    graph.node("Add", graph.input("x", [33, 32]), graph.node(operator, *inputs), outputs=["y"])
    assert folded(graph, "y") == [operator, "Add"]


def test_tensors_that_only_a_branch_reads_are_kept():
    graph = Graph()
    x, condition = graph.input("x", [2]), graph.input("c", [], "bool")
    double = graph.node("Add", x, x)
    branches = {
        name: onnx.helper.make_graph(
            [onnx.helper.make_node(operator, [double], [name])],
            name,
            [],
            [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2])],
        )
        for name, operator in (("then", "Relu"), ("else", "Neg"))
    }
    graph.node(
        *("If", condition),
        outputs=["y"],
        then_branch=branches["then"],
        else_branch=branches["else"],
    )
    assert folded(graph, "y") == ["Add", "If"]
