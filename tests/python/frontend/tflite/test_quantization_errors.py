"""Types and quantizations that the importer does not support, and what users are told."""

from __future__ import annotations

import numpy as np
import pytest

import usmp
from support.lazy import lazy
from support.quantized_models.model import Constant, Spec, int32, one_operator
from support.tflite_builder import (
    Graph,
    Quantization,
    options,
    per_channel,
    per_tensor,
    write_model,
)
from support.tflite_refusals import message_of, refusal
from support.tflite_tables import with_schema
from usmp.frontend.tflite.importer import import_tflite

schema = lazy("ai_edge_litert.schema_py_generated")

X = Spec((2, 3), 0.05, -7)
REAL = Spec((2, 3), 0, 0, "float32")
IMAGE = Spec((1, 4, 4, 3), 0.05, -7)
WEIGHT = Constant(np.ones((4, 3), np.int8), per_tensor(0.1))
DENSE = options("FullyConnectedOptions")
CONV = options("Conv2DOptions", padding=0, stride_h=1, stride_w=1)


# ---- types


def test_real_data_with_integer_constants():
    """Operators with weights compute that; others do not."""
    constant = Constant(np.ones((2, 3), np.int8), per_tensor(0.1))
    assert refusal("ADD", [REAL, constant], REAL, options("AddOptions")) == (
        'data "t0" of float32 with weight "t1" of int8 ("dynamic range" quantization) is not '
        "supported; quantize the data too (full integer quantization), or nothing"
    )


def test_real_output_of_integers():
    assert refusal("FULLY_CONNECTED", [X, WEIGHT], Spec((2, 4), 0, 0, "float32"), DENSE) == (
        'output "t2" is of type float32; supported: int8'
    )


COMPUTED = (
    "is of type float16, which is moved and converted, but not computed with; convert the model to "
    "float32, or CAST or DEQUANTIZE the tensor to float32 first"
)


def test_weights_of_float16():
    weight = Constant(np.ones((4, 3), np.float16))
    message = refusal("FULLY_CONNECTED", [REAL, weight], Spec((2, 4), 0, 0, "float32"), DENSE)
    assert message == f'tensor "t1" {COMPUTED}'


@pytest.mark.parametrize(
    ("code", "count", "table"),
    [
        ("ADD", 2, options("AddOptions")),
        ("RELU", 1, None),
        ("SOFTMAX", 1, options("SoftmaxOptions", beta=1.0)),
        ("EQUAL", 2, None),
        ("QUANTIZE", 1, None),
    ],
)
def test_data_of_float16(code, count, table):
    half = Spec((2, 3), 0, 0, "float16")
    assert refusal(code, [half] * count, X if code == "QUANTIZE" else half, table) == (
        f'tensor "t0" {COMPUTED}'
    )


@pytest.mark.cc
def test_dequantized_weights_of_float16_are_supported():
    graph = Graph()
    x = graph.input((2, 3), "float32")
    half = graph.constant(np.array([[1, 2, 3], [4, 5, 6]], np.float16))
    weight, y = graph.tensor((2, 3), "float32"), graph.tensor((2, 2), "float32")
    graph.operator("DEQUANTIZE", [half], [weight])
    graph.operator("FULLY_CONNECTED", [x, weight, -1], [y], DENSE)
    graph.output(y)
    outputs = usmp.build(import_tflite(write_model(graph))).run({"t0": np.eye(2, 3, dtype="f4")})
    np.testing.assert_array_equal(outputs["t3"], [[1, 4], [2, 5]])


def test_text():
    text = Spec((2,), 0, 0, "string")
    assert message_of(one_operator("RESHAPE", [text, int32(2, 1)], [text(2, 1)])) == (
        'tensor "t0" holds text (type STRING), and only numbers can be planned; turn text into '
        "numbers in the application, and begin the model there"
    )


@pytest.mark.parametrize(
    ("dtype", "kinds"), [("int4", "constants"), ("resource", "results of VAR_HANDLE")]
)
def test_types_that_nothing_computes(dtype, kinds):
    spec = Spec((2, 2), 0.1, 0, dtype)
    assert message_of(one_operator("RESHAPE", [spec, int32(4)], [spec(4)])) == (
        f'tensor "t0" is of type {dtype}; supported only for {kinds}'
    )
    graph = Graph()
    x, y = graph.input(X.shape, "int8"), graph.tensor(X.shape, "int8")
    between = graph.tensor((6,), dtype)
    graph.operator("RESHAPE", [x], [between])
    graph.operator("RESHAPE", [between], [y])
    graph.output(y)
    assert message_of(write_model(graph)) == (
        f'operator 0 (RESHAPE, output "t2"): tensor "t2" is of type {dtype}; '
        f"supported only for {kinds}"
    )


def test_reshaped_integers_of_another_type():
    assert refusal("RESHAPE", [X, int32(6)], Spec((6,), 0.05, -7, "uint8")) == (
        'output "t2" is uint8[6]; the inputs and options give int8[6]'
    )


def test_parameters_are_integers():
    axes = Constant(np.array([1], np.float32))
    reducer = options("ReducerOptions", keep_dims=False)
    assert refusal("MEAN", [X, axes], X(2), reducer) == (
        'input 1, "t1", is of type float32; supported: int32, int64'
    )


@pytest.mark.models
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_sparse_weights(dtype):
    data = Spec((2, 3), 0.05 * (dtype == "int8"), 0, dtype)
    weight = Constant(np.ones((4, 3), dtype), per_tensor(0.1) if dtype == "int8" else None)

    def make_sparse(model) -> None:
        model.subgraphs[0].tensors[1].sparsity = schema.SparsityParametersT()

    content = one_operator("FULLY_CONNECTED", [data, weight], [data(2, 4)], DENSE)
    message = message_of(with_schema(content, make_sparse))
    assert message == (
        'operator 0 (FULLY_CONNECTED, output "t2"): tensor "t1" is sparse; '
        "convert the model without sparsity"
    )


def test_bias_of_another_type():
    wide, bias = Spec((2, 3), 0.1, 0, "int16"), Constant(np.zeros(4, np.float32))
    assert refusal("FULLY_CONNECTED", [wide, WEIGHT, bias], wide(2, 4), DENSE) == (
        'bias "t2" is of type float32; supported: int32, int64'
    )


# ---- quantization


def test_activation_without_scale():
    assert refusal("FULLY_CONNECTED", [X(2, 3), WEIGHT], Spec((2, 4), 0), DENSE) == (
        'tensor "t2" has no scale and zero point'
    )


def test_weight_without_scale():
    weight = Constant(WEIGHT.data)
    assert refusal("FULLY_CONNECTED", [X, weight], X(2, 4), DENSE) == 'weight "t1" has no scale'


def test_scale_without_zero_point():
    content = Constant(np.ones((2, 3), np.int8), Quantization((0.1,), ()))
    assert refusal("ADD", [X, content], X, options("AddOptions")) == (
        'tensor "t1" has 1 quantization scales and no zero point'
    )


@pytest.mark.parametrize(
    ("code", "shape", "output", "table"),
    [
        ("ADD", (2, 3), X, options("AddOptions")),
        ("FULLY_CONNECTED", (4, 3), X(2, 4), DENSE),
    ],
)
def test_scale_of_zero(code, shape, output, table):
    content = Constant(np.ones(shape, np.int8), per_tensor(0.0))
    assert refusal(code, [X, content], output, table) == (
        'tensor "t1" has a quantization scale of 0'
    )


def test_activation_with_scales_of_channels():
    graph = Graph()
    x = graph.input((2, 3), "int8", per_channel([0.1, 0.2, 0.3], 1))
    y = graph.tensor((2, 3), "int8", per_tensor(0.1))
    graph.operator("ABS", [x], [y])
    graph.output(y)
    assert message_of(write_model(graph)) == (
        'operator 0 (ABS, output "t1"): tensor "t0" has 3 scales; activations are quantized per '
        "tensor"
    )


def test_other_number_of_scales_than_channels():
    weight = Constant(WEIGHT.data, per_channel([0.1, 0.2, 0.3], 0))
    assert refusal("FULLY_CONNECTED", [X, weight], X(2, 4), DENSE) == (
        'weight "t1" has 3 scales for 4 output channels'
    )


def test_zero_point_outside_the_type():
    assert refusal("ABS", [X], Spec((2, 3), 0.1, 128)) == (
        'tensor "t1" has zero point 128, which int8 cannot hold'
    )


@pytest.mark.parametrize("side", [0, 1])
def test_zero_points_that_kernels_of_int16_ignore(side):
    specs = [Spec((2, 3), 0.1, 0, "int16"), Spec((2, 4), 0.1, 0, "int16")]
    specs[side] = Spec(specs[side].shape, 0.1, 5, "int16")
    name = ("t0", "t2")[side]
    assert refusal("FULLY_CONNECTED", [specs[0], WEIGHT], specs[1], DENSE) == (
        f'"{name}" is of type int16 and has zero point 5; required: 0'
    )


def test_joined_tensors_of_which_one_is_quantized():
    table = options("ConcatenationOptions", axis=0)
    assert refusal("CONCATENATION", [X, Spec((2, 3), 0)], X(4, 3), table) == (
        'tensor "t1" has no scale and zero point'
    )
