"""What converters of arithmetic, reductions and conversions refuse, and what they say."""

from __future__ import annotations

import numpy as np
import pytest

from support.quantized_models.model import Constant, Spec, int32, scalar
from support.tflite_builder import options, per_channel
from support.tflite_refusals import refusal
from usmp.frontend.tflite.context import converts
from usmp.frontend.tflite.converters.convolutions import convert_conv2d

X = Spec((2, 3), 0.05, -7)
REDUCER = options("ReducerOptions", keep_dims=False)
ADD = options("AddOptions", fused_activation_function=0)


def test_inputs_of_two_types():
    message = refusal("ADD", [X, Spec((2, 3), 0.05, 0, "int16")], X, ADD)
    assert message == 'input "t1" is of type int16; supported: int8'


def test_inputs_that_cannot_be_broadcast():
    assert refusal("ADD", [X, X(4)], X, ADD) == (
        'inputs of shapes [2, 3] and [4] do not give the shape of output "t2", [2, 3]'
    )


def test_unknown_activation():
    table = options("AddOptions", fused_activation_function=4)
    assert refusal("ADD", [X, X], X, table) == (
        "fused activation TANH is not supported; supported: NONE, RELU, RELU6, RELU_N1_TO_1"
    )


def test_activation_without_quantization():
    message = refusal("ADD", [X, Spec((2, 3), 0)], X, ADD)
    assert message == 'tensor "t1" has no scale and zero point'


def test_activation_with_scales_of_channels():
    content = Constant(np.ones((2, 3), np.int8), per_channel([0.1, 0.2, 0.3], 1))
    assert refusal("ADD", [X, content], X, ADD) == (
        'tensor "t1" has 3 scales; activations are quantized per tensor'
    )


@pytest.mark.parametrize("code", ["MUL", "SQUARED_DIFFERENCE"])
def test_products_of_int16_with_zero_points(code):
    wide = Spec((2, 3), 0.05, 1, "int16")
    table = options("MulOptions", fused_activation_function=0) if code == "MUL" else None
    assert refusal(code, [wide, wide], wide, table) == (
        "with int16, zero points are [1, 1, 1]; required: 0"
    )


@pytest.mark.parametrize("code", ["MAXIMUM", "MINIMUM"])
def test_extremes_of_two_quantizations(code):
    assert refusal(code, [X, Spec((2, 3), 0.1, -7)], X) == (
        '"t0" and "t1" must have the same scale and zero point, not '
        "0.05000000074505806 and -7, 0.10000000149011612 and -7"
    )


def test_comparison_of_large_scales():
    message = refusal("LESS", [X, Spec((2, 3), 1.5, 0)], Spec((2, 3), 0, 0, "bool"))
    assert message == (
        "less of int8 of scales 0.05000000074505806 and 1.5; less than 1 is supported"
    )


@pytest.mark.slow
def test_too_many_addends():
    assert refusal("ADD_N", [X] * 16, X) == "a sum of 16 tensors; at most 15 are supported"


@pytest.mark.parametrize("axes", [[2], [-3], [0, 2]])
def test_axes_that_are_not_there(axes):
    message = refusal("MEAN", [X, int32(*axes)], X(2), REDUCER)
    assert message == f"axes {axes} of an input of 2 axes"


def test_output_of_another_shape_than_the_axes_leave():
    assert refusal("SUM", [X, int32(1)], X(3), REDUCER) == (
        "shapes [2, 3] -> [3] do not go with axes [1]"
    )


def test_computed_axes():
    message = refusal("MEAN", [X, Spec((1,), 0, 0, "int32")], X(2), REDUCER)
    assert message == 'input 1, "t1", is computed; only a constant is supported'


def test_sum_that_may_overflow():
    wide = Spec((2**16,), 0.05, 0, "int16")
    assert refusal("SUM", [wide, int32(0)], wide(), REDUCER) == (
        "a sum of 65536 elements of int16 may leave the 32-bit integers; "
        "at most 65535 are supported at zero point 0"
    )


def test_position_that_does_not_fit():
    long = X(2**23)
    table = options("ArgMaxOptions", output_type=2)
    assert refusal("ARG_MAX", [long, scalar(0)], Spec((), 0, 0, "int32"), table) == (
        "an axis of 8388608 elements of int8; at most 8388607 are supported"
    )


def test_matrices_that_do_not_go_together():
    table = options("BatchMatMulOptions", adj_x=False, adj_y=True)
    assert refusal("BATCH_MATMUL", [X, X(3, 4)], X(2, 4), table) == (
        "matrices of shapes [2, 3] and [3, 4], transposed: [False, True], do not give "
        'output "t2" of shape [2, 4]'
    )


def test_products_that_may_overflow():
    table = options("BatchMatMulOptions", adj_x=False, adj_y=False)
    wide, tall = Spec((1, 2**17), 0.1, 0), Spec((2**17, 1), 0.1, 0)
    assert refusal("BATCH_MATMUL", [wide, tall], X(1, 1), table) == (
        "sums of 131072 products may leave the 32-bit integers; at most 131071 are supported"
    )


def test_quantization_of_another_type():
    assert refusal("QUANTIZE", [Spec((2, 3), 0, 0, "bool")], X) == (
        'input "t0" is of type bool; supported: float32, int8, uint8, int16, int32'
    )


def test_other_shape():
    assert refusal("QUANTIZE", [X], X(3, 2)) == (
        'input "t0" has shape [2, 3] and output "t1" has shape [3, 2]; they must be the same'
    )


@pytest.mark.parametrize("code", ["LOGISTIC", "TANH"])
def test_output_of_another_quantization(code):
    wide = Spec((2, 3), 0.05, 0, "int16")
    assert refusal(code, [wide], Spec((2, 3), 0.5, 3, "int16")) == (
        "the int16 output has scale 0.5 and zero point 3; required: 3.0517578125e-05 and 0"
    )


def test_slopes_that_do_not_go_with_the_data():
    slopes = Constant(np.ones(2, np.int8), X.quantization)
    assert refusal("PRELU", [X, slopes], X) == "slopes of shape [2] do not go with data of [2, 3]"


def test_an_operator_has_one_converter():
    with pytest.raises(ValueError, match=r"^CONV_2D has two converters$"):
        converts("CONV_2D")(convert_conv2d)
