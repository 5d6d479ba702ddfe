"""ONNX files: what they compute, and the names and shapes of inputs and outputs."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import usmp
from support.lazy import lazy
from support.levels import in_long_run
from support.onnx_models import (
    Graph,
    Reference,
    mobile_block,
    perceptron,
    residual_cnn,
    small_model,
)

onnx = lazy("onnx")
TensorProto = lazy("onnx:TensorProto")
helper = lazy("onnx.helper")
import_onnx = lazy("usmp.frontend.onnx.importer:import_onnx")

pytestmark = pytest.mark.models

HERE = Path(".")


def check_like_reference(content: bytes, tolerance: float = 1e-5, seeds: int = 2) -> None:
    reference, factory = Reference(content), usmp.build(import_onnx(content, HERE))
    for seed in range(seeds):
        inputs = reference.random_inputs(seed)
        outputs, expected = factory.run(inputs), reference.run(inputs)
        assert outputs.keys() == expected.keys()
        for name, value in expected.items():
            assert (outputs[name].dtype, outputs[name].shape) == (value.dtype, value.shape)
            scale = np.abs(value).max()
            np.testing.assert_allclose(outputs[name] / scale, value / scale, atol=tolerance)


def operators_of(mod) -> list[str]:
    return re.findall(r"= (R\.[\w.]+|R\.call_tir)\(", mod["main"].script())


@pytest.mark.slow
@pytest.mark.parametrize("make", [residual_cnn, mobile_block, perceptron])
def test_models_made_here(make):
    check_like_reference(make())


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["deeploy_autoencoder1d", "deeploy_cct_1_16", *in_long_run(["onnx_light_squeezenet"])],
)
def test_public_models(shared_model, name):
    check_like_reference(shared_model(name, ".onnx").read_bytes(), seeds=1)


def test_names_are_kept():
    content = small_model(names=("gpu_0/data:0", 'Grüße */ "1".2'))
    mod = import_onnx(content, HERE)
    assert [param.name for param in mod["main"].params] == ["gpu_0/data:0"]
    assert list(mod["main"].attrs["output_names"]) == ['Grüße */ "1".2']
    factory = usmp.build(mod)
    assert [tensor.c_name for tensor in factory.interface.inputs] == ["gpu_0_data_0"]
    x = np.array([[-1, 2, -3, 4]], np.float32)
    outputs = factory.run({"gpu_0/data:0": x})
    assert outputs.keys() == {'Grüße */ "1".2'}
    np.testing.assert_array_equal(outputs['Grüße */ "1".2'], [[0, 2, 0, 4]])


def test_initializers_that_are_listed_as_inputs_are_constants():
    graph = Graph()
    x = graph.input("x", [1, 4])
    graph.input("w", [4])
    graph.constant([1, 2, 3, 4], np.float32, name="w")
    graph.node("Mul", x, "w", outputs=["y"])
    mod = import_onnx(graph.model("y"), HERE)
    assert [param.name for param in mod["main"].params] == ["x"]
    outputs = usmp.build(mod).run({"x": np.ones((1, 4), np.float32)})
    np.testing.assert_array_equal(outputs["y"], [[1, 2, 3, 4]])


def test_several_outputs_one_of_them_an_input_and_one_a_constant():
    graph = Graph()
    x = graph.input("x", [2])
    graph.constant([5, 6], np.float32, name="c")
    graph.node("Relu", x, outputs=["y"])
    graph.node("Identity", x, outputs=["z"])
    outputs = usmp.build(import_onnx(graph.model("y", "z", "c"), HERE)).run(
        {"x": np.array([-1, 1], np.float32)}
    )
    assert {name: value.tolist() for name, value in outputs.items()} == {
        "y": [0, 1],
        "z": [-1, 1],
        "c": [5, 6],
    }


def shapes_of(content: bytes) -> list[list[int]]:
    main = import_onnx(content, HERE)["main"]
    return [[int(extent) for extent in param.ty.shape] for param in main.params]


@pytest.mark.parametrize("batch", ["N", "batch_size", None, 0], ids=str)
def test_a_symbolic_first_extent_is_a_batch_of_one(batch):
    assert shapes_of(small_model(shape=(batch, 4))) == [[1, 4]]


@pytest.mark.parametrize("batch", [0, -1, -2])
def test_an_unknown_extent_of_an_output_follows_from_the_inputs(batch):
    """onnxruntime takes no negative extent as a number either."""
    model = onnx.ModelProto.FromString(small_model(shape=(batch, 4)))
    dims = model.graph.output[0].type.tensor_type.shape.dim
    dims.add().dim_value, dims.add().dim_value = batch, 4
    assert shapes_of(model.SerializeToString()) == [[1, 4]]


def test_the_symbol_of_the_batch_is_one_everywhere():
    graph = Graph()
    x = graph.input("x", ["N", 4])
    h = graph.input("h", [2, "N", 4])
    graph.node("Add", x, h, outputs=["y"])
    assert shapes_of(graph.model("y")) == [[1, 4], [2, 1, 4]]


def test_functions_of_the_model_are_inlined():
    graph = Graph()
    graph.node("Twice", graph.input("x", [2]), outputs=["y"], domain="mine")
    model = graph.proto("y", domains=["mine"])
    body = [helper.make_node("Add", ["a", "a"], ["b"])]
    opset = [helper.make_opsetid("", 17)]
    model.functions.append(helper.make_function("mine", "Twice", ["a"], ["b"], body, opset))
    factory = usmp.build(import_onnx(model.SerializeToString(), HERE))
    outputs = factory.run({"x": np.array([1, 2], np.float32)})
    np.testing.assert_array_equal(outputs["y"], [2, 4])


def test_clip_and_pad_are_relax_operators():
    graph = Graph()
    x = graph.input("x", [1, 1, 4, 4])
    x = graph.node("Pad", x, graph.constant([0, 0, 1, 2, 0, 0, 3, 4], np.int64))
    x = graph.node("Clip", x, graph.constant(-0.5, np.float32), graph.constant(0.5, np.float32))
    x = graph.node("Clip", x, graph.constant(-0.25, np.float32))
    graph.node("Clip", x, graph.constant(0, np.float32), outputs=["y"])
    content = graph.model("y")
    assert operators_of(import_onnx(content, HERE)) == [
        "R.nn.pad",
        "R.clip",
        "R.clip",
        "R.nn.relu",
    ]
    check_like_reference(content)


def test_clip_of_old_models():
    graph = Graph()
    graph.node("Clip", graph.input("x", [1, 9]), outputs=["y"], min=0.0, max=6.0)
    content = graph.model("y", opset=6)
    assert operators_of(import_onnx(content, HERE)) == ["R.clip"]
    check_like_reference(content)


@pytest.mark.parametrize("mode", ["reflect", "edge"])
def test_pads_other_than_with_a_constant(mode):
    graph = Graph()
    pads = graph.constant([0, 0, 1, 2, 0, 0, 2, 1], np.int64)
    graph.node("Pad", graph.input("x", [1, 1, 4, 4]), pads, outputs=["y"], mode=mode)
    check_like_reference(graph.model("y"))


def test_negative_indices_of_gather():
    graph = Graph()
    indices = graph.constant([[-1, 0], [-3, 2]], np.int64)
    graph.node("Gather", graph.input("x", [2, 3, 4]), indices, outputs=["y"], axis=1)
    check_like_reference(graph.model("y"))


def test_elements_of_gather_that_are_not_there():
    """Counted from the end, -5 is one in front of the first."""
    graph = Graph()
    indices = graph.constant([-5, 1], np.int64)
    graph.node("Gather", graph.input("x", [2, 4]), indices, outputs=["y"], axis=1)
    with pytest.raises(usmp.UnsupportedModelError) as error:
        usmp.build(import_onnx(graph.model("y"), HERE))
    assert str(error.value) == (
        'operator Gather (node "node_y", output "y") is not supported: index -5 is outside of axis '
        "1, which has 4 elements; indices from -4 to 3 are inside"
    )


def test_gather_of_a_shape_that_only_the_importer_knows():
    """ONNX infers no shapes of operators of other domains."""
    graph = Graph()
    data = graph.node("FastGelu", graph.input("x", [4, 6]), domain="com.microsoft")
    extent = graph.node("Gather", graph.node("Shape", data), graph.constant(0, np.int64), axis=0)
    extent = graph.node("Unsqueeze", extent, graph.constant([0], np.int64))
    shape = graph.node("Concat", extent, graph.constant([-1], np.int64), axis=0)
    graph.node("Reshape", data, shape, outputs=["y"])
    assert operators_of(import_onnx(graph.model("y"), HERE))[-1] == "R.reshape"


def test_infinity():
    graph = Graph()
    x = graph.input("x", [1, 5])
    mask = graph.constant([[0, -np.inf, 0, np.inf, -np.inf]], np.float32)
    graph.node("Add", x, mask, outputs=["y"])
    outputs = usmp.build(import_onnx(graph.model("y"), HERE)).run(
        {"x": np.ones((1, 5), np.float32)}
    )
    np.testing.assert_array_equal(outputs["y"], [[1, -np.inf, 1, np.inf, -np.inf]])


def test_weights_of_16_bits_are_widened():
    graph = Graph()
    weight = graph.constant([0.5, 1.5, -2, 65504], np.float16)
    weight = graph.node("Cast", weight, to=TensorProto.FLOAT)
    graph.node("Mul", graph.input("x", [1, 4]), weight, outputs=["y"])
    check_like_reference(graph.model("y"))


def test_activations_of_16_bits():
    graph = Graph()
    graph.node("Relu", graph.input("x", [4], "float16"), outputs=["y"])
    x = np.array([-1, 0.1, 65504, -0.0], np.float16)
    outputs = usmp.build(import_onnx(graph.model("y", dtype="float16"), HERE)).run({"x": x})
    np.testing.assert_array_equal(outputs["y"], np.maximum(x, 0))
