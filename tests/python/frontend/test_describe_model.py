"""What `describe_model` says of a file of each format."""

from __future__ import annotations

import numpy as np
import pytest

from support.lazy import TorchModule, lazy
from support.onnx_models import Graph as OnnxGraph
from support.pytorch_models import exported, torch
from support.tflite_builder import Graph, Signature, options, per_channel, per_tensor, write_model
from usmp.frontend.describe_model import (
    DescribedSize,
    DescribedState,
    DescribedTensor,
    describe_model,
)
from usmp.support.errors import UnsupportedModelError

onnx = lazy("onnx")


@pytest.fixture
def described(tmp_path):
    """Writes a file and describes it."""

    def describe(name, content, **options):
        path = tmp_path / name
        path.write_bytes(content)
        return describe_model(path, **options)

    return describe


def onnx_model():
    graph = OnnxGraph()
    x = graph.input("x", ["batch", "frames", 3])
    z = graph.input("z", [1, 3], "float64")
    weight = graph.constant(np.ones((3, 2), np.float32), name="weight")
    graph.input("weight", [3, 2])
    y = graph.node("Relu", graph.node("MatMul", graph.node("Relu", x), weight), outputs=["y"])
    graph.node("Sigmoid", graph.node("Cast", z, to=1), outputs=["s"])
    return graph.model(y, "s")


def test_onnx(described):
    found = described("m.onnx", onnx_model(), max_sizes={"frames": 20})
    assert found.format == "ONNX model"
    assert found.inputs == [
        DescribedTensor("x", "float32", (1, "frames", 3)),
        DescribedTensor("z", "float64", (1, 3)),
    ]
    assert [(t.name, t.dtype) for t in found.outputs] == [("y", "float32"), ("s", "float32")]
    assert found.states == []
    assert list(found.operators.items()) == [
        ("Relu", 2),
        ("Cast", 1),
        ("MatMul", 1),
        ("Sigmoid", 1),
    ]
    assert found.sizes == [
        DescribedSize("batch", 1, None, 1),
        DescribedSize("frames", 1, 20, None),
    ]
    assert (found.signatures, found.entries) == ([], [])


def test_sizes_without_bounds_are_described(described):
    found = described("m.onnx", onnx_model())
    assert found.sizes[1] == DescribedSize("frames", 1, None, None)
    given = described("m.onnx", onnx_model(), input_shapes={"x": [2, 5, 3]})
    assert [(size.name, size.taken_as) for size in given.sizes] == [("batch", 2), ("frames", 5)]
    with pytest.raises(ValueError, match="rows"):
        described("m.onnx", onnx_model(), max_sizes={"rows": 5})


def quantized_tflite():
    graph = Graph()
    x = graph.input((1, 4), "int8", per_tensor(0.5, -3), name="x")
    z = graph.input((1, 2), "int8", per_channel([0.5, 0.25], 1), name="z")
    y = graph.tensor((1, 4), "int8", per_tensor(0.5, -3), name="y")
    graph.operator("RELU", [x], [y])
    graph.output(y, z)
    return graph


def test_tflite(described):
    found = described("M.TFLITE", write_model(quantized_tflite()))
    assert found.format == "TFLite model"
    assert found.inputs == [
        DescribedTensor("x", "int8", (1, 4), 0.5, -3),
        DescribedTensor("z", "int8", (1, 2)),
    ]
    assert found.outputs[0] == DescribedTensor("y", "int8", (1, 4), 0.5, -3)
    assert (found.states, found.operators, found.entries) == ([], {"RELU": 1}, [])
    assert (found.signatures, found.sizes) == ([], [])


def stateful_graph(name, state, is_read=True):
    """A graph that adds its input to a state."""
    graph = Graph(name)
    x = graph.input((1, 4), "float32", name="x")
    handle, old = graph.tensor((), "resource"), graph.tensor((1, 4), "float32")
    y = graph.tensor((1, 4), "float32", name="y")
    variable = options("VarHandleOptions", container="", shared_name=state)
    graph.operator("VAR_HANDLE", [], [handle], variable)
    graph.operator("READ_VARIABLE", [handle], [old], options("ReadVariableOptions"))
    graph.operator("ADD", [x, old], [y], options("AddOptions"))
    if not is_read:
        graph.operator("ASSIGN_VARIABLE", [handle, y], [], options("AssignVariableOptions"))
    graph.output(y)
    return graph


def test_tflite_of_several_signatures(described):
    graphs = stateful_graph("main", "s", is_read=False), stateful_graph("other", "s")
    signatures = [Signature("run", 0), Signature("peek", 1)]
    found = described("m.tflite", write_model(*graphs, signatures=signatures))
    assert (found.inputs, found.outputs, found.states) == ([], [], [])
    assert sorted(found.signatures) == ["peek", "run"]
    assert {
        entry.entry: [(s.bytes, s.changed) for s in entry.states] for entry in found.entries
    } == {
        "run": [(16, True)],
        "peek": [(16, False)],
    }
    assert [t.name for t in found.entries[0].inputs + found.entries[0].outputs] == ["x", "y"]
    operators = {"ADD": 2, "READ_VARIABLE": 2, "VAR_HANDLE": 2, "ASSIGN_VARIABLE": 1}
    assert found.operators == operators


def test_tflite_of_one_signature(described):
    content = write_model(stateful_graph("main", "s", False), signatures=[Signature("run", 0)])
    found = described("m.tflite", content)
    assert [(s.bytes, s.changed) for s in found.states] == [(16, True)]
    assert (found.signatures, found.entries) == (["run"], [])


def test_states_of_a_model_that_cannot_be_imported_are_not_known(described):
    graph = stateful_graph("main", "s", False)
    z = graph.tensor((1, 4), "float32", name="z")
    graph.operator("CUSTOM", [graph.outputs[0]], [z], custom_code="Unknown")
    graph.output(z)
    assert described("m.tflite", write_model(graph)).states is None


def test_variable_tensors_are_state(described):
    graph = quantized_tflite()
    graph.tensor((1, 4), "int8", per_tensor(0.5, -3), is_variable=True)
    found = described("m.tflite", write_model(graph))
    assert found.states == []


class Counting(TorchModule):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(2, 3))

    def forward(self, x):
        self.count.add_(1)
        return x + self.count.sum()


def test_pt2(described):
    frames = torch.export.Dim("frames", min=2, max=8)
    content = exported(Counting(), torch.ones(3, 3), dynamic_shapes=({1: frames},))
    found = described("m.PT2", content)
    assert found.format == "program of torch.export"
    [size] = found.sizes
    assert (size.lower_bound, size.upper_bound, size.taken_as) == (2, 8, None)
    assert found.inputs == [DescribedTensor("x", "float32", (3, size.name))]
    assert [(t.shape, t.dtype) for t in found.outputs] == [((3, size.name), "float32")]
    assert found.states == [DescribedState("count", 24, True)]
    assert found.operators["add"] == 2
    assert "call_tir" not in found.operators


class Updating(TorchModule):
    def forward(self, x, cache):
        cache.add_(x)
        return cache * 2


def test_inputs_that_runs_update(described):
    found = described("m.pt2", exported(Updating(), torch.ones(3), torch.ones(3)))
    assert [(t.name, t.updated) for t in found.inputs] == [("x", False), ("cache", True)]
    assert found.states == []


def test_bytes_are_limited_as_import_model_limits_them(described):
    with pytest.raises(UnsupportedModelError, match="max-model-bytes"):
        described("m.tflite", write_model(quantized_tflite()), max_model_bytes=3)
