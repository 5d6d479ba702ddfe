"""ONNX `Scan`, `Loop` and `If` that only the run decides: bodies of control flow."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import usmp
from support.lazy import lazy
from support.onnx_models import Graph, Reference
from support.poison import poisoned

TensorProto = lazy("onnx:TensorProto")
helper = lazy("onnx.helper")
import_onnx = lazy("usmp.frontend.onnx.importer:import_onnx")

pytestmark = pytest.mark.models

FLOAT, INT64, BOOL = 1, 7, 9
"""Of `TensorProto`."""
node = lazy("onnx.helper:make_node")


def value(name: str, element: int = FLOAT, shape: tuple[int, ...] = (3,)):
    return helper.make_tensor_value_info(name, element, shape)


def model(steps: int = 5, goes_on: str = "cin", trips: int = 4, number=np.int64) -> bytes:
    """A scan that reads a weight and a tensor of its surroundings, a loop that exchanges tensors
    and counts, and a choice between two of its results."""
    graph = Graph()
    x, h = graph.input("x", [steps, 3]), graph.input("h", [3])
    weight = graph.weight(3, 3)
    scanned = [
        node("MatMul", ["hi", weight], ["hw"]),
        node("Add", ["hw", "xi"], ["s"]),
        node("Tanh", ["s"], ["ho"]),
        node("Mul", ["ho", "h"], ["yo"]),
    ]
    types = [value("hi"), value("xi")], [value("ho"), value("yo")]
    body = helper.make_graph(scanned, "scan", *types)
    graph.node("Scan", h, x, outputs=["hf", "ys"], body=body, num_scan_inputs=1)
    looped = [
        node("Cast", ["i"], ["number"], to=FLOAT),
        node("Less", ["number", "number"], ["never"]),
        node("Identity", [goes_on], ["cout"]),
        node("Add", ["a", "number"], ["sum"]),
        node("Mul", ["sum", "hf"], ["product"]),
        node("Tanh", ["product"], ["row"]),
    ]
    taken = [value("i", INT64, ()), value("cin", BOOL, ()), value("a"), value("b")]
    given = [value("cout", BOOL, ()), value("b"), value("sum"), value("row")]
    body = helper.make_graph(looped, "loop", taken, given)
    limits = graph.constant(trips, number), graph.constant(True)
    graph.node("Loop", *limits, h, "hf", outputs=["p", "q", "rows"], body=body)
    total = graph.node("ReduceSum", "q", keepdims=0)
    is_positive = graph.node("Greater", total, graph.constant(0.0, np.float32))
    branches = {
        f"{name}_branch": helper.make_graph(
            [node(operator, ["p", "q"], [name])], name, [], [value(name)]
        )
        for name, operator in (("then", "Mul"), ("else", "Sub"))
    }
    graph.node("If", is_positive, outputs=["chosen"], **branches)
    return graph.model("ys", "rows", "chosen", "hf")


@pytest.mark.slow
def test_outputs_are_those_of_onnxruntime():
    reference, factory = Reference(model()), usmp.build(import_onnx(model(), Path(".")))
    for module in (factory.load(), poisoned(factory).load()):
        for seed in range(4):
            inputs = reference.random_inputs(seed)
            outputs, expected = module.run(inputs), reference.run(inputs)
            for name, tensor in expected.items():
                np.testing.assert_allclose(outputs[name], tensor, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_code_does_not_grow_with_the_steps():
    short, long = (usmp.build(import_onnx(model(n, trips=n), Path("."))).source for n in (5, 55))
    assert len(short.splitlines()) == len(long.splitlines())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"goes_on": "never"}, "its body computes whether it goes on"),
        ({"trips": 0}, "it has 0 iterations; supported: 1 to 2147483647"),
        ({"trips": 2**63 - 1}, "it has 9223372036854775807 iterations; supported: 1 to"),
        (
            {"number": np.float32},
            r"its number of iterations \(input 0\) is float32\[\], not one int64",
        ),
    ],
    ids=["condition", "no iterations", "endless", "number of floats"],
)
def test_what_is_refused(change, message):
    with pytest.raises(usmp.UnsupportedModelError, match=message) as error:
        import_onnx(model(**change), Path("."))
    assert str(error.value).startswith('operator Loop (node "node_p", output "p") is not supported')


def test_what_has_no_elements_is_refused_in_branches():
    graph = Graph()
    x, condition = graph.input("x", [4, 3]), graph.input("condition", [1], "bool")
    zero = graph.constant([0], np.int64)
    graph.node("Slice", x, zero, zero, zero, outputs=["none"])
    branches = {
        f"{name}_branch": helper.make_graph(
            [node(operator, ["none"], [name])], name, [], [value(name, shape=(0, 3))]
        )
        for name, operator in (("then", "Abs"), ("else", "Neg"))
    }
    graph.node("If", condition, outputs=["y"], **branches)
    with pytest.raises(
        usmp.UnsupportedModelError, match=r'reads "none", float32\[0, 3\], which has no elements'
    ):
        import_onnx(graph.model("y"), Path("."))


def test_outputs_that_only_bodies_read():
    """A recurrent layer gives all of its outputs that a branch reads."""
    shape = (4, 1, 1, 3)
    graph = Graph()
    x, condition = graph.input("x", [4, 1, 3]), graph.input("c", [], "bool")
    weights = [graph.weight(1, 3, 3) for _ in range(2)]
    graph.node("RNN", x, *weights, outputs=["y", "last"], hidden_size=3)
    branches = {
        f"{name}_branch": helper.make_graph(
            [node(operator, ["y"], [name])], name, [], [value(name, FLOAT, shape)]
        )
        for name, operator in (("then", "Neg"), ("else", "Identity"))
    }
    graph.node("If", condition, outputs=["z"], **branches)
    content = graph.model("z", "last")
    reference, factory = Reference(content), usmp.build(import_onnx(content, Path()))
    data = np.random.default_rng(0).normal(size=(4, 1, 3)).astype(np.float32)
    for chosen in (True, False):
        inputs = {"x": data, "c": np.array(chosen)}
        outputs = factory.run(inputs)
        for name, expected in reference.run(inputs).items():
            np.testing.assert_allclose(outputs[name], expected, rtol=1e-5)
