"""Spans of the nodes of an ONNX file: what operators of the compiled model come from."""

from __future__ import annotations

import pytest

from usmp.tir.model_operator import operators_in


@pytest.fixture(scope="module")
def nodes():
    from onnx import TensorProto, helper

    from usmp.frontend.onnx.graph.model_operators import ModelNodes

    value = helper.make_tensor("v", TensorProto.FLOAT, [4], [1, 2, 3, 4])
    graph = helper.make_graph(
        [
            helper.make_node("Constant", [], ["c"], "a constant", value=value),
            helper.make_node("Add", ["x", "c"], ["sum"], "added"),
            helper.make_node("Mul", ["sum", "w"], ["y", ""], ""),
            helper.make_node("Clip", ["y", "", "w"], ["z"], "clipped"),
        ],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, [4])],
        [helper.make_tensor("w", TensorProto.FLOAT, [], [2])],
    )
    return ModelNodes(graph)


UNKNOWN = "unknown"


def unknown(name):
    return UNKNOWN, ()


def test_constants_are_no_inputs(nodes):
    (added,) = operators_in(nodes.span(["sum"], unknown))
    assert (added.index, added.type, added.name, added.inputs) == (1, "Add", "added", ("x",))
    (multiplied,) = operators_in(nodes.span(["y"], unknown))
    assert (multiplied.name, multiplied.inputs) == ("", ("sum",))
    (clipped,) = operators_in(nodes.span(["z"], unknown))
    assert clipped.inputs == ("y",)


def test_outputs_are_those_of_the_file_or_what_is_known_better(nodes):
    (added,) = operators_in(nodes.span(["none", "sum"], lambda name: ("float16", (2,))))
    assert [(t.name, t.dtype, t.shape) for t in added.outputs] == [("sum", "float16", (2,))]
    (multiplied,) = operators_in(nodes.span(["y"], unknown))
    assert [(t.name, t.dtype, t.shape) for t in multiplied.outputs] == [("y", UNKNOWN, ())]
    (clipped,) = operators_in(nodes.span(["z"], unknown))
    assert [(t.name, t.dtype, t.shape) for t in clipped.outputs] == [("z", "float32", (4,))]
    assert nodes.span(["none", ""], unknown) is None


def test_constants_compute_nothing(nodes):
    assert [each.type for each in operators_in(nodes.joined_span(unknown))] == [
        "Add",
        "Mul",
        "Clip",
    ]
