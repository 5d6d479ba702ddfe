"""Files that runtimes take though ONNX's checker does not; branches whose condition is known."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest

import usmp
from support.lazy import lazy
from support.onnx_models import Graph, Reference
from support.operator_trials.onnx.one_node import graph_trial
from support.operator_trials.onnx.samples import int64, values
from support.operator_trials.trial import outcome
from usmp.support.model_warning import ModelWarning

onnx = lazy("onnx")
TensorProto = lazy("onnx:TensorProto")
helper = lazy("onnx.helper")
accept_forms = lazy("usmp.frontend.onnx.graph.accepted_forms:accept_forms")
fold_shape_arithmetic = lazy("usmp.frontend.onnx.rewrites.fold:fold_shape_arithmetic")
import_onnx = lazy("usmp.frontend.onnx.importer:import_onnx")

pytestmark = pytest.mark.models


def unsorted(*nodes: tuple[str, list[str], list[str]]) -> onnx.ModelProto:
    graph = Graph()
    graph.input("x", [2])
    for operator, inputs, outputs in nodes:
        graph.node(operator, *inputs, outputs=outputs)
    return graph.proto("y")


def test_nodes_in_any_order():
    model = unsorted(("Add", ["b", "c"], ["y"]), ("Neg", ["x"], ["c"]), ("Relu", ["c"], ["b"]))
    accept_forms(model)
    assert [node.output[0] for node in model.graph.node] == ["c", "b", "y"]


def test_nodes_that_are_in_order_stay():
    model = unsorted(("Neg", ["x"], ["b"]), ("Relu", ["x"], ["a"]), ("Add", ["a", "b"], ["y"]))
    before = model.SerializeToString()
    accept_forms(model)
    assert model.SerializeToString() == before


def test_circles_are_refused():
    model = unsorted(("Relu", ["a"], ["y"]), ("Neg", ["b"], ["a"]), ("Add", ["a", "x"], ["b"]))
    with pytest.raises(usmp.UnsupportedModelError) as error:
        import_onnx(model.SerializeToString(), Path("."))
    assert str(error.value) == (
        'the model is damaged: operator Neg (output "a") needs its own output, maybe through other '
        "operators; export the model again"
    )


def test_attributes_that_an_operator_does_not_have():
    graph = Graph()
    graph.node("Relu", graph.input("x", [2]), outputs=["y"], layout="NHWC\x1b")
    with pytest.warns(ModelWarning) as found:
        import_onnx(graph.model("y"), Path("."))
    assert [str(each.message) for each in found] == [
        'operator Relu (output "y") has no attribute "layout" in opset 17 of ONNX; it is left out'
    ]


def test_extents_of_outputs_that_stand_for_any():
    model = unsorted(("Relu", ["x"], ["y"]))
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, [-1]))
    main = import_onnx(model.SerializeToString(), Path("."))["main"]
    assert [int(extent) for extent in main.ret_ty.shape] == [2]


def branch(name: str, operator: str, *inputs: str) -> onnx.GraphProto:
    """A branch with a tensor `t` of its own."""
    nodes = [
        helper.make_node(operator, inputs, ["t"]),
        helper.make_node("Neg", ["t"], [name]),
    ]
    return helper.make_graph(nodes, name, [], [helper.make_empty_tensor_value_info(name)])


def test_branches_whose_condition_follows_from_shapes():
    """Two of them, which have tensors of the same name."""
    nodes = [
        helper.make_node("Shape", ["x0"], ["shape"]),
        helper.make_node("Gather", ["shape", "x1"], ["rows"], axis=0),
        helper.make_node("Equal", ["rows", "x2"], ["is_two"]),
        helper.make_node("Not", ["is_two"], ["is_other"]),
        *(
            helper.make_node(
                "If",
                [condition],
                [output],
                then_branch=branch("p", "Exp", source),
                else_branch=branch("q", "Sin", source),
            )
            for condition, source, output in (("is_two", "x0", "z"), ("is_other", "z", "y"))
        ),
    ]
    operands = [values("float32", [2, 3]), int64(0), int64(2)]
    trial = graph_trial(Random(0), "If", nodes, operands, ["y"], 17)
    model = fold_shape_arithmetic(onnx.ModelProto.FromString(trial.model))
    operators = [node.op_type for node in model.graph.node]
    assert operators == ["Exp", "Neg", "Identity", "Sin", "Neg", "Identity"]
    result = outcome(trial)
    assert result.is_compared, result.detail


@pytest.mark.slow
def test_rows_of_attention_of_which_everything_is_masked():
    mask = np.array([[True, False], [False, False]])
    nodes = [helper.make_node("Attention", ["x0", "x0", "x0", "x1"], ["y"])]
    operands = [values("float32", [1, 1, 2, 4]), mask]
    trial = graph_trial(Random(0), "Attention", nodes, operands, ["y"], 23)
    result = outcome(trial)
    assert result.is_compared, result.detail


def test_of_two_versions_of_a_domain_the_last_one_is_meant():
    """As in files of training tools; Softmax is over other axes since opset 13."""
    graph = Graph()
    graph.node("Softmax", graph.input("x", [2, 3, 4]), outputs=["y"])
    for old, new in (("", ""), ("ai.onnx", ""), ("", "ai.onnx")):
        for versions in ((12, 13), (13, 12)):
            model = graph.proto("y")
            del model.opset_import[:]
            imports = map(helper.make_opsetid, (old, new), versions)
            model.opset_import.extend(imports)
            accept_forms(model)
            assert {i.version for i in model.opset_import} == {versions[1]}
            assert [i.domain for i in model.opset_import] == list(dict.fromkeys((old, new)))


def normalized(opset: int, before: str = "", domain: str = "") -> bytes:
    """A sum of both outputs of a LayerNormalization, maybe after another operator."""
    graph = Graph()
    x = graph.input("x", [2, 3])
    if before:
        x = graph.node(before, x, domain=domain)
    names = graph.node("LayerNormalization", x, graph.weight(3), outputs=["n", "mean"])
    graph.node("Add", *names, outputs=["y"])
    return graph.model("y", opset=opset, domains=[domain] if domain else [])


@pytest.mark.slow
def test_both_outputs_of_a_normalization_older_than_its_operator():
    content = normalized(13)
    reference = Reference(content)
    inputs = reference.random_inputs(3)
    output = usmp.build(import_onnx(content, Path("."))).run(inputs)["y"]
    np.testing.assert_allclose(output, reference.run(inputs)["y"], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("given", [(11, "Relu"), (17, "Gelu", "com.microsoft")])
def test_a_mean_that_cannot_be_had_is_refused(given):
    with pytest.raises(usmp.UnsupportedModelError, match="something reads its mean or deviation"):
        import_onnx(normalized(*given), Path("."))
