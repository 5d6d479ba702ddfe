"""Rows and columns of a TRANSPOSE_CONV, and the biases that go with each type of data."""

from __future__ import annotations

import numpy as np
import pytest
import tflite

from support.quantized_models.model import PADDINGS, Constant, Spec, int32, one_operator
from support.tflite_builder import options, per_tensor
from support.tflite_refusals import refusal
from usmp.frontend.tflite.converters.transposed_convolutions import transposed_sides
from usmp.frontend.tflite.file.graph import operators_of
from usmp.frontend.tflite.importer import import_tflite
from usmp.ops.quantized import TransposedSide


def table(padding, strides):
    return options(
        "TransposeConvOptions",
        padding=PADDINGS[padding],
        stride_h=strides[0],
        stride_w=strides[1],
    )


def float_operands(data, kernel, output):
    """Inputs and output of a transposed convolution of three channels to two."""
    weight = Constant(np.zeros((2, *kernel, 3), np.float32))
    y = Spec((1, *output, 2), 0, dtype="float32")
    return [int32(*y.shape), weight, Spec((1, *data, 3), 0, dtype="float32")], y


@pytest.mark.parametrize(
    ("padding", "expected"),
    [
        ("SAME", (TransposedSide(4, 5, 2, 1, 8), TransposedSide(5, 7, 3, 2, 14))),
        ("SAME", (TransposedSide(4, 4, 1, 1, 4), TransposedSide(3, 2, 4, 0, 12))),
        ("VALID", (TransposedSide(4, 5, 2, 0, 11), TransposedSide(5, 4, 3, 0, 16))),
        ("VALID", (TransposedSide(1, 3, 2, 0, 3), TransposedSide(1, 4, 1, 0, 4))),
    ],
)
def test_sides_have_the_padding_of_the_convolution_that_goes_back(padding, expected):
    data, kernel, strides, output = (
        tuple(getattr(side, name) for side in expected)
        for name in ("data", "kernel", "stride", "output")
    )
    inputs, y = float_operands(data, kernel, output)
    content = one_operator("TRANSPOSE_CONV", inputs, [y], table(padding, strides))
    model = tflite.Model.GetRootAsModel(content, 0)
    (operator,) = operators_of(model, model.Subgraphs(0))
    assert transposed_sides(operator) == expected


@pytest.mark.parametrize("strides", [(0, 1), (1, 0)])
def test_a_stride_of_zero_is_refused(strides):
    inputs, y = float_operands((4, 5), (3, 3), (4, 5))
    message = refusal("TRANSPOSE_CONV", inputs, y, table("SAME", strides))
    assert message == f"strides {list(strides)} must be at least 1"


def operands(data, weight, bias, channels=2):
    """Inputs and output of a transposed convolution of these types, with a bias."""
    zero_point = 128 if data == "uint8" else 0
    scale = 0 if data == "float32" else 0.05
    x, y = (Spec((1, 3, 3, c), scale, zero_point, data) for c in (1, 2))
    content = np.ones((2, 2, 2, 1), "int8" if weight == "int4" else weight)
    scales = None if data == "float32" else per_tensor(0.01, 128 if weight == "uint8" else 0)
    constant = Constant(content, scales, "int4" if weight == "int4" else None)
    biases = Constant(np.arange(channels, dtype=bias), None if scales is None else per_tensor(5e-4))
    return [int32(*y.shape), constant, x, biases], y


@pytest.mark.parametrize(
    ("data", "weight", "bias"),
    [
        ("int8", "int8", "int32"),
        ("int8", "int4", "int32"),
        ("int16", "int8", "int64"),
        ("int16", "int8", "int16"),
        ("uint8", "uint8", "int32"),
        ("float32", "float32", "float32"),
    ],
)
def test_the_type_of_a_bias_goes_with_that_of_the_data(data, weight, bias):
    inputs, y = operands(data, weight, bias)
    content = one_operator("TRANSPOSE_CONV", inputs, [y], table("SAME", (1, 1)))
    result = import_tflite(content)["main"].ret_ty
    assert (list(result.shape), str(result.dtype)) == ([1, 3, 3, 2], data)


@pytest.mark.parametrize(
    ("data", "weight", "bias", "supported"),
    [
        ("int8", "int8", "int64", "int32"),
        ("int16", "int8", "int32", "int64, int16"),
        ("uint8", "uint8", "int16", "int32"),
        ("float32", "float32", "int32", "float32"),
    ],
)
def test_a_bias_of_another_type_is_refused(data, weight, bias, supported):
    message = refusal("TRANSPOSE_CONV", *operands(data, weight, bias), table("SAME", (1, 1)))
    assert message == f'bias "t3" is of type {bias}; supported: {supported}'


def test_a_bias_of_other_channels_is_refused():
    inputs, y = operands("int8", "int8", "int32", channels=3)
    message = refusal("TRANSPOSE_CONV", inputs, y, table("SAME", (1, 1)))
    assert message == 'bias "t3" has shape [3]; it should be [2]'
