"""Arithmetic of infinity, NaN and zeros of either sign is onnxruntime's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import usmp
from support.lazy import lazy
from support.onnx_models import Reference

numpy_helper = lazy("onnx.numpy_helper")
helper = lazy("onnx.helper")
TensorProto = lazy("onnx:TensorProto")
import_onnx = lazy("usmp.frontend.onnx.importer:import_onnx")

pytestmark = pytest.mark.models

VALUES = np.array([1, np.nan, -0.0, np.inf, -np.inf, 3, 1e9], np.float32)
TWICE = [("Sqrt", "x", "a"), ("Sqrt", "x", "b")]
CASES = {
    "a product with 0": [("Mul", "x zero", "y")],
    "a quotient of 0": [("Div", "zero x", "y")],
    "equal differences": [*TWICE, ("Sub", "a b", "y")],
    "a sum less a term": [("Add", "x one", "a"), ("Sub", "a x", "y")],
    "equal roots": [*TWICE, ("Equal", "a b", "c"), ("Where", "c one zero", "y")],
    "not less": [("Less", "x one", "a"), ("Not", "a", "c"), ("Where", "c one zero", "y")],
    "less or not": [
        ("Less", "x one", "a"),
        ("GreaterOrEqual", "x one", "b"),
        ("Or", "a b", "c"),
        ("Where", "c one zero", "y"),
    ],
    "Celu": [("Celu", "x", "y")],
    "the larger": [("Max", "x one", "y")],
    "the smaller": [("Min", "one x", "y")],
}


@pytest.mark.parametrize("nodes", CASES.values(), ids=CASES.keys())
def test_special_values(nodes):
    shape = list(VALUES.shape)
    graph = helper.make_graph(
        [helper.make_node(name, inputs.split(), [output]) for name, inputs, output in nodes],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(np.float32(n), name) for n, name in ((0, "zero"), (1, "one"))],
    )
    opset = helper.make_opsetid("", 17)
    content = helper.make_model(graph, opset_imports=[opset], ir_version=9).SerializeToString()
    (expected,) = Reference(content).run({"x": VALUES}).values()
    (result,) = usmp.build(import_onnx(content, Path("."))).run({"x": VALUES}).values()
    np.testing.assert_array_equal(result, expected)
    is_number = ~np.isnan(expected)
    assert (np.signbit(result) == np.signbit(expected))[is_number].all()


def test_gemm_without_its_third_term():
    """With `beta` 0, an infinite third input has no part in the result."""
    tensor = helper.make_tensor_value_info
    node = helper.make_node("Gemm", ["x", "w", "b"], ["y"], beta=0.0)
    constants = [
        numpy_helper.from_array(np.eye(2, dtype=np.float32), "w"),
        numpy_helper.from_array(np.array([np.inf, 1], np.float32), "b"),
    ]
    values = [[tensor(name, TensorProto.FLOAT, [1, 2])] for name in "xy"]
    opset = helper.make_opsetid("", 17)
    graph = helper.make_graph([node], "graph", *values, constants)
    content = helper.make_model(graph, opset_imports=[opset], ir_version=9).SerializeToString()
    data = np.array([[1, 2]], np.float32)
    (result,) = usmp.build(import_onnx(content, Path("."))).run({"x": data}).values()
    np.testing.assert_array_equal(result, data)


def test_a_product_of_a_number_with_0():
    node = helper.make_node
    nodes = [node("ReduceSum", ["x"], ["s"], keepdims=0), node("Mul", ["s", "zero"], ["y"])]
    tensor = helper.make_tensor_value_info
    shapes = {"x": [2], "y": []}
    values = [[tensor(name, TensorProto.FLOAT, shape)] for name, shape in shapes.items()]
    zero = numpy_helper.from_array(np.float32(0), "zero")
    graph = helper.make_graph(nodes, "graph", *values, [zero])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    factory = usmp.build(import_onnx(model.SerializeToString(), Path(".")))
    (result,) = factory.run({"x": np.array([1, np.inf], np.float32)}).values()
    assert np.isnan(result)
