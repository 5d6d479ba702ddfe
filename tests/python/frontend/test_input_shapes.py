"""`input_shapes`: values for the sizes that the inputs of a model leave open."""

from __future__ import annotations

import numpy as np
import pytest

import usmp
from support.lazy import lazy
from support.onnx_models import Graph as OnnxGraph
from support.pytorch_models import Function, exported
from support.tflite_builder import Graph, Signature, options, write_model

torch = lazy("torch")


def onnx_model(shape) -> bytes:
    """Sums of pairs: x + x, which may have a shape that is open, or none."""
    graph = OnnxGraph()
    x = graph.input("x", shape)
    graph.node("Add", x, x, outputs=["y"])
    return graph.model("y")


def pytorch_model(least: int, most: int) -> bytes:
    frames = torch.export.Dim("frames", min=least, max=most)
    return exported(Function(lambda x: x + x), torch.ones(1, 7, 3), dynamic_shapes=({1: frames},))


def tflite_model(signature, second=(-1, 3)) -> Graph:
    """x + x, with a tensor inside that is open too, and y of what is given for it."""
    graph = Graph("add")
    x = graph.tensor((1, 3), "float32", name="x", signature=signature)
    graph.inputs.append(x)
    inside = graph.tensor((1, 3), "float32", signature=second)
    y = graph.tensor((1, 3), "float32", name="y", signature=signature)
    graph.operator("ADD", [x, x], [inside], options("AddOptions"))
    graph.operator("ADD", [inside, x], [y], options("AddOptions"))
    graph.output(y)
    return graph


def reshaping_model() -> bytes:
    """Twice x, of 6 columns, as rows of 4."""
    graph = Graph()
    x = graph.tensor((1, 6), "float32", name="x", signature=(-1, 6))
    graph.inputs.append(x)
    rows = graph.tensor((1, 4), "float32", signature=(-1, 4))
    y = graph.tensor((1, 4), "float32", name="y", signature=(-1, 4))
    shape = graph.constant(np.array([-1, 4], "int32"))
    graph.operator("RESHAPE", [x, shape], [rows], options("ReshapeOptions"))
    graph.operator("ADD", [rows, rows], [y], options("AddOptions"))
    graph.output(y)
    return write_model(graph)


MODELS = {
    "named": (".onnx", lambda: onnx_model(["batch", "frames", 3]), [2, 5, 3]),
    "unnamed": (".onnx", lambda: onnx_model([None, None, 3]), [2, 5, 3]),
    "fixed": (".onnx", lambda: onnx_model([2, 5, 3]), [2, 5, 3]),
    "no_shape": (".onnx", lambda: onnx_model(None), [4, 2]),
    "pytorch": (".pt2", lambda: pytorch_model(2, 9), [1, 4, 3]),
    "tflite": (".tflite", lambda: write_model(tflite_model((-1, 3))), [5, 3]),
    "tflite_inner": (".tflite", lambda: write_model(tflite_model((1, -1), (1, -1))), [1, 8]),
}


@pytest.mark.cc
def test_extents_inside_follow_from_the_inputs(tmp_path):
    path = tmp_path / "model.tflite"
    path.write_bytes(reshaping_model())
    x = np.arange(48, dtype="float32").reshape(8, 6)
    (output,) = usmp.build(path, input_shapes={"x": [8, 6]}).run({"x": x}).values()
    np.testing.assert_array_equal(output, 2 * x.reshape(12, 4))


@pytest.mark.cc
@pytest.mark.parametrize("name", MODELS)
def test_sizes_have_the_values(name, tmp_path):
    ending, content, shape = MODELS[name]
    path = tmp_path / f"model{ending}"
    path.write_bytes(content())
    x = np.random.default_rng(0).normal(size=shape).astype("float32")
    (output,) = usmp.build(path, input_shapes={"x": shape}).run({"x": x}).values()
    np.testing.assert_array_equal(output, x + x + x if ending == ".tflite" else x + x)


def test_one_signature_of_several(tmp_path):
    path = tmp_path / "model.tflite"
    graphs = [tflite_model((-1, 3)), tflite_model((-1, 3))]
    signatures = [
        Signature(key, number, {f"x_{key}": g.inputs[0]}, {"y": g.outputs[0]})
        for number, (key, g) in enumerate(zip(("a", "b"), graphs, strict=True))
    ]
    path.write_bytes(write_model(*graphs, signatures=signatures))
    mod = usmp.import_model(path, input_shapes={"x_b": [4, 3]})
    assert [list(map(int, mod[name].params[0].ty.shape)) for name in "ab"] == [[4, 3], [4, 3]]


REFUSED = {
    "unknown": (
        (".onnx", lambda: onnx_model(["batch", 3])),
        {"z": [1, 3]},
        'the model has no input "z". Its inputs: x',
    ),
    "rank": (
        (".onnx", lambda: onnx_model(["batch", 3])),
        {"x": [1, 3, 1]},
        'input "x" has the shape [batch, 3] in the model, which cannot be [1, 3, 1]',
    ),
    "fixed": (
        (".tflite", lambda: write_model(tflite_model((-1, 3)))),
        {"x": [2, 4]},
        'input "x" has the shape [x_0, 3] in the model, which cannot be [2, 4]',
    ),
    "two values": (
        (".onnx", lambda: onnx_model(["n", "n"])),
        {"x": [2, 3]},
        'size "n" would be 2 in input "x" and 3 in input "x"',
    ),
    "two values of a file": (
        (".tflite", lambda: write_model(tflite_model((-1, -1)))),
        {"x": [2, 3]},
        "a .tflite file does not say which of the sizes that its inputs leave open a tensor "
        "inside has, so that all must have one value, and not 2, 3; convert the model with fixed "
        "input shapes",
    ),
    "out of range": (
        (".pt2", lambda: pytorch_model(2, 9)),
        {"x": [1, 10, 3]},
        'input "x" has the shape [1, x_1, 3] in the model, where "x_1" may be from 2 to 9, not 10',
    ),
    "zero": (
        (".onnx", lambda: onnx_model(["batch", 3])),
        {"x": [0, 3]},
        'the extents of input "x" must be from 1 to 2147483647, not 0',
    ),
    "no number": (
        (".onnx", lambda: onnx_model(["batch", 3])),
        {"x": [1.5, 3]},
        'the shape of input "x" must be of integers, not of 1.5',
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", REFUSED)
def test_shapes_that_cannot_be(what, tmp_path):
    (ending, content), shapes, message = REFUSED[what]
    path = tmp_path / f"model{ending}"
    path.write_bytes(content())
    with pytest.raises(ValueError) as error:
        usmp.import_model(path, input_shapes=shapes)
    assert str(error.value) == message


def test_a_size_with_a_value_has_no_largest_one(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx_model(["batch", "n"]))
    with pytest.raises(ValueError) as error:
        usmp.import_model(path, input_shapes={"x": [1, 3]}, max_sizes={"n": 4})
    assert str(error.value) == (
        'size "n" has one value by the shapes of the inputs, and a largest value; give one of them'
    )


def test_modules_have_their_shapes(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx_model([1, 3]))
    with pytest.raises(ValueError, match=r"^input_shapes are for model files; .*BindSymbolicVars"):
        usmp.build(usmp.import_model(path), input_shapes={"x": [1, 3]})
