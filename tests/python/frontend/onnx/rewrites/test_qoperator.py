"""Models in QOperator form and dynamically quantized ones, as onnxruntime makes them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tvm.ir.transform import PassContext

import usmp
from support.lazy import lazy
from support.onnx_models import (
    Graph,
    Reference,
    dynamically_quantized,
    perceptron,
    quantized,
    residual_cnn,
)
from support.qdq_models import integer_calls
from usmp.support.errors import UnsupportedModelError

onnx = lazy("onnx")
TensorProto = lazy("onnx:TensorProto")
helper = lazy("onnx.helper")
import_onnx = lazy("usmp.frontend.onnx.importer:import_onnx")

pytestmark = pytest.mark.models

HERE = Path(".")
MICROSOFT = "com.microsoft"


def outputs(content: bytes, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """What is computed here and by onnxruntime, of one output."""
    reference = Reference(content)
    inputs = reference.random_inputs(seed)
    # One after the other and without tiles, operators compute the same, of less code.
    with PassContext(config={"tir.usmp.optimize": "ram"}, disabled_pass=["StreamOperators"]):
        factory = usmp.build(import_onnx(content, HERE))
    (output,), (expected,) = factory.run(inputs).values(), reference.run(inputs).values()
    assert np.ptp(expected) > 0
    return output, expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "activations", "is_per_channel"),
    [(residual_cnn, "uint8", True), (perceptron, "int8", False)],
    ids=["residual_cnn", "perceptron"],
)
def test_static_quantization(make, activations, is_per_channel):
    content = quantized(make(), activations, is_per_channel, "QOperator")
    np.testing.assert_array_equal(*outputs(content, 5))


@pytest.mark.slow
def test_dynamic_quantization():
    content = dynamically_quantized(perceptron())
    operators = {node.op_type for node in onnx.ModelProto.FromString(content).graph.node}
    assert {"DynamicQuantizeLinear", "MatMulInteger"} <= operators
    np.testing.assert_allclose(*outputs(content, 5), rtol=1e-5, atol=1e-6)


def test_both_forms_become_the_same_integer_operators():
    calls = []
    for form in ("QOperator", "QDQ"):
        mod = import_onnx(quantized(perceptron(), "int8", False, form), HERE)
        calls.append(integer_calls(mod))
    assert calls[0] == calls[1]
    assert calls[0].count("fully_connected") == 1
    assert not any("matmul" in call for call in calls[0])


def product(bias: int = 0, **changes: str) -> Graph:
    """A QGemm of a row with a column, whose inputs may be left out or others."""
    graph = Graph()
    names = {
        "a": graph.input("x", [1, 1], "int8"),
        "a_scale": graph.constant(2.0**-20, np.float32),
        "a_zero_point": graph.constant(0, np.int8),
        "b": graph.constant([[1]], np.int8),
        "b_scale": graph.constant(1, np.float32),
        "b_zero_point": graph.constant(0, np.int8),
        "c": graph.constant([bias], np.int32),
        "y_scale": graph.constant(0.5, np.float32),
        "y_zero_point": graph.constant(0, np.int8),
    }
    graph.input("other", [], "float32")
    given = [changes.get(name, value) for name, value in names.items()]
    graph.node("QGemm", *given, outputs=["y"], domain=MICROSOFT)
    return graph


@pytest.mark.slow
def test_biases_of_more_bits_than_floats_have():
    # With one less, the sum is a half that is rounded to 64; as a float32 it would be 2**24 * 2.
    for bias in (2**25 + 2**18 + 1, 2**25 + 2**18):
        content = product(bias).model("y", dtype="int8", domains=[MICROSOFT])
        inputs = {"x": np.array([[0]], np.int8), "other": np.array(0, np.float32)}
        expected = Reference(content).run(inputs)["y"]
        np.testing.assert_array_equal(
            usmp.build(import_onnx(content, HERE)).run(inputs)["y"], expected
        )


def test_scales_that_nodes_write():
    graph = product(y_scale="same")
    nodes = [
        helper.make_node("Constant", [], ["written"], value_float=0.5),
        helper.make_node("Identity", ["written"], ["same"]),
    ]
    graph.nodes[:0] = nodes
    mods = [
        import_onnx(g.model("y", dtype="int8", domains=[MICROSOFT]), HERE)
        for g in (graph, product())
    ]
    assert len(integer_calls(mods[0])) > 0
    assert integer_calls(mods[0]) == integer_calls(mods[1])


def test_operators_of_a_branch_that_is_known():
    graph = product(2**26)
    (node,) = graph.nodes
    results = [onnx.ValueInfoProto(name="y")]
    branch = helper.make_graph([node], "branch", [], results)
    other = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "other", [], results)
    condition = graph.constant(True, np.bool_)
    node = helper.make_node("If", [condition], ["z"], then_branch=branch, else_branch=other)
    graph.nodes[:] = [node]
    mod = import_onnx(graph.model("z", dtype="int8", domains=[MICROSOFT]), HERE)
    assert integer_calls(mod) == integer_calls(
        import_onnx(product(2**26).model("y", dtype="int8", domains=[MICROSOFT]), HERE)
    )


REFUSED = {
    "no scale": ({"a_scale": ""}, "input 1 is missing"),
    "no output scale": (
        {"y_zero_point": ""},
        "the scale or the zero point of its output is missing",
    ),
    "computed": ({"y_scale": "other"}, "the quantization of its output must be constant"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_name_the_operator(case):
    changes, message = REFUSED[case]
    content = product(**changes).model("y", dtype="int8", domains=[MICROSOFT])
    with pytest.raises(UnsupportedModelError) as error:
        import_onnx(content, HERE)
    described = 'operator com.microsoft.QGemm (node "node_y", output "y") is not supported: '
    assert str(error.value) == described + message


def test_a_damaged_constant():
    graph = product(y_scale="damaged")
    tensor = TensorProto(name="damaged", data_type=TensorProto.FLOAT, dims=[7], raw_data=b"12")
    node = helper.make_node("Constant", [], ["damaged"], value=tensor)
    graph.nodes.insert(0, node)
    with pytest.raises(UnsupportedModelError, match="damaged"):
        import_onnx(graph.model("y", dtype="int8", domains=[MICROSOFT]), HERE)


OPTIONS = {
    "QGemm": ({"alpha": 0.5}, "alpha is not 1"),
    "QLinearGlobalAveragePool": ({"channels_last": 1}, "channels_last is 1"),
}


@pytest.mark.parametrize("operator", OPTIONS)
def test_refused_options(operator):
    attributes, message = OPTIONS[operator]
    graph = Graph()
    scale, zero_point = graph.constant(0.5, np.float32), graph.constant(0, np.int8)
    parameters = [scale, zero_point]
    x = graph.input("x", [1, 4, 4, 2] if "Pool" in operator else [2, 2], "int8")
    given = [x, *parameters]
    if operator == "QGemm":
        given += [graph.constant([[1, 2], [3, 4]], np.int8), *parameters, ""]
    graph.node(operator, *given, *parameters, outputs=["y"], domain=MICROSOFT, **attributes)
    with pytest.raises(UnsupportedModelError, match=message):
        import_onnx(graph.model("y", dtype="int8", domains=[MICROSOFT]), HERE)
