"""Tensors and operators of a TFLite graph as converters see them."""

from __future__ import annotations

import numpy as np
import pytest
import tflite

from support.tflite_builder import (
    Graph,
    Quantization,
    options,
    per_channel,
    per_tensor,
    write_model,
)
from usmp.frontend.tflite.file.graph import Tensors, operators_of
from usmp.support.errors import UnsupportedModelError


def tensors_of(graph):
    model = tflite.Model.GetRootAsModel(write_model(graph), 0)
    return Tensors(model, model.Subgraphs(0))


def tensor(shape, dtype, quantization=None, **fields):
    graph = Graph()
    index = graph.tensor(shape, dtype, quantization, **fields)
    return tensors_of(graph)[index]


def operator(graph):
    model = tflite.Model.GetRootAsModel(write_model(graph), 0)
    return operators_of(model, model.Subgraphs(0))[0]


def test_constants_and_what_is_computed():
    values = np.arange(6, dtype=np.int16).reshape(2, 3)
    found = tensor((2, 3), "int16", data=values)
    assert (found.dtype, found.shape, found.is_constant) == ("int16", (2, 3), True)
    assert found.data.tolist() == values.tolist()
    plain = tensor((2, 3), "float32", name="x")
    assert (plain.name, plain.data, plain.is_constant) == ("x", None, False)
    assert tensor((2, 3), "int16", data=values, is_variable=True).data is None
    assert tensor((2, 0), "float32").data.shape == (2, 0)
    found.inferred.values[plain.index] = np.zeros(1)
    assert found.is_computed
    assert not plain.is_computed


def test_two_elements_of_4_bits_are_in_a_byte():
    values = np.array([[-8, 7, -1], [1, 0, 5]], np.int8)
    assert tensor((2, 3), "int4", data=values).data.tolist() == values.tolist()
    odd = np.array([3, -4, 2], np.int8)
    assert tensor((3,), "int4", data=odd).data.tolist() == [3, -4, 2]


def test_types_that_are_not_supported():
    with pytest.raises(UnsupportedModelError, match="holds text"):
        _ = tensor((1,), "string").dtype
    with pytest.raises(UnsupportedModelError, match="is of type COMPLEX128; supported: float32"):
        _ = tensor((1,), "complex128").dtype


@pytest.mark.parametrize(
    ("signature", "open_axes"),
    [(None, ()), ((-1, 3), (0,)), ((-1, -1), (0, 1)), ((2, 3), ()), ((-1,), ()), ((0, 3), ())],
)
def test_axes_that_the_file_leaves_open(signature, open_axes):
    assert tensor((2, 3), "float32", signature=signature).open_axes == open_axes


@pytest.mark.parametrize(
    ("shape", "is_taken"),
    [((5, 3), True), ((0, 3), True), ((5, 4), False), ((5,), False), ((-1, 3), False)],
)
def test_shapes_that_follow_from_inputs(shape, is_taken):
    found = tensor((2, 3), "float32", signature=(-1, 3))
    found.take_shape(shape)
    assert found.shape == (shape if is_taken else (2, 3))


def test_quantization_of_tensors():
    assert tensor((2,), "int8").quantization is None
    assert tensor((2,), "float32", per_tensor(0.5)).quantization is None
    found = tensor((2,), "int8", per_tensor(0.5, -3)).quantization
    assert (found.dtype, found.scales, found.zero_points) == ("int8", (0.5,), (-3,))
    assert tensor((2,), "int4", per_tensor(0.5)).quantization.dtype == "int8"
    spread = tensor((2, 3), "int8", Quantization((0.5, 0.25, 1.0), (4,), 1)).quantization
    assert spread.zero_points == (4, 4, 4)
    with pytest.raises(UnsupportedModelError, match="has 1 quantization scales and no zero point"):
        _ = tensor((2,), "int8", Quantization((0.5,), ())).quantization


def of_inputs(*inputs, code="ADD", made=None, outputs=1):
    graph = Graph()
    indices = [-1 if each is None else each(graph) for each in inputs]
    results = [graph.tensor((2,), "float32", name=f"y{n}") for n in range(outputs)]
    graph.operator(code, indices, results, made)
    return operator(graph)


def test_inputs_and_outputs():
    axes = np.array([1, 2], np.int64)
    found = of_inputs(
        lambda graph: graph.tensor((2,), "float32", name="x"),
        None,
        lambda graph: graph.constant(axes),
        lambda graph: graph.constant(axes.astype(np.float32)),
        lambda graph: graph.tensor((2,), "int32"),
    )
    assert found.input(0).name == "x"
    assert found.optional_input(1) is found.optional_input(9) is None
    assert found.integers(2).tolist() == found.constant(3).tolist() == [1, 2]
    assert found.output.name == "y0"
    for call, message in (
        (lambda: found.input(1), "input 1 is missing"),
        (lambda: found.input(5), "input 5 is missing"),
        (lambda: found.constant(0), 'input 0, "x", is computed; only a constant'),
        (lambda: found.integers(3), "is of type float32; supported: int32, int64"),
        (lambda: found.integers(4), "is computed"),
        (lambda: of_inputs(outputs=2).output, "it has 2 outputs, not one"),
        (lambda: of_inputs(outputs=0).output, "it has 0 outputs, not one"),
    ):
        with pytest.raises(UnsupportedModelError, match=message):
            call()
    assert found.described == 'operator 0 (ADD, output "y0")'
    assert of_inputs(outputs=0).described == "operator 0 (ADD, output none)"


def test_operators_in_reports():
    found = of_inputs(
        lambda graph: graph.tensor((2,), "float32", name="x"),
        lambda graph: graph.constant(np.ones(2, np.float32)),
        None,
    ).described_in_full(3)
    assert [str(name) for name in found.inputs] == ["x"]


def test_options_are_those_of_the_operator():
    found = of_inputs(made=options("AddOptions", fused_activation_function=1))
    assert found.options(tflite.AddOptions).FusedActivationFunction() == 1
    with pytest.raises(UnsupportedModelError, match="of type AddOptions, not MulOptions"):
        found.options(tflite.MulOptions)
    with pytest.raises(UnsupportedModelError, match="it has no options"):
        of_inputs().options(tflite.AddOptions)


@pytest.mark.parametrize(
    ("quantization", "dtype", "message"),
    [
        (per_tensor(0.5, -128), "int8", None),
        (per_tensor(0.5, 127), "int8", None),
        (per_tensor(0.5, 255), "uint8", None),
        (per_tensor(0.5, 128), "int8", "has zero point 128, which int8 cannot hold"),
        (per_tensor(0.5, -129), "int8", "has zero point -129"),
        (per_tensor(0.0), "int8", "has a quantization scale of 0"),
        (per_tensor(float("nan")), "int8", "has a quantization scale of 0"),
        (None, "int8", "has no scale and zero point"),
        (per_channel([0.5, 0.25], 0), "int8", "has 2 scales; activations are quantized per"),
    ],
)
def test_quantization_of_activations(quantization, dtype, message):
    found = of_inputs(lambda graph: graph.tensor((2, 3), dtype, quantization))
    if message is None:
        assert found.quantization(found.input(0)).scales == quantization.scales
        return
    with pytest.raises(UnsupportedModelError, match=message):
        found.quantization(found.input(0))


@pytest.mark.parametrize(
    ("quantization", "axis", "message"),
    [
        (per_tensor(0.5, 3), 0, None),
        (per_channel([0.5, 0.25], 0), 0, None),
        (per_channel([0.5, 0.25], 1), 1, "has 2 scales for 3 output channels"),
        (Quantization((0.5, 0.25), (0, 1), 0), 0, "scales per channel and zero points other"),
        (Quantization((0.5, 0.0), (0, 0), 0), 0, "has a quantization scale of 0"),
        (None, 0, "has no scale"),
    ],
)
def test_quantization_of_weights(quantization, axis, message):
    found = of_inputs(lambda graph: graph.tensor((2, 3), "int8", quantization))
    if message is None:
        assert found.weight_quantization(found.input(0), axis).scales == quantization.scales
        return
    with pytest.raises(UnsupportedModelError, match=message):
        found.weight_quantization(found.input(0), axis)
