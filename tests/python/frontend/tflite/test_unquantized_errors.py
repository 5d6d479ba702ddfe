"""What operators on numbers without scales refuse."""

from __future__ import annotations

import numpy as np
import pytest
import tvm

from support.quantized_models.model import Constant, Spec, one_operator, scalar
from support.tflite_builder import options
from support.tflite_refusals import refusal
from usmp.frontend.tflite.importer import import_tflite

REAL = Spec((2, 3), 0, 0, "float32")
IMAGE = REAL(1, 4, 4, 3)
INTEGERS = Spec((1, 4, 4, 3), 0.05, -7)


@pytest.mark.parametrize("field", ["stride_w", "filter_height"])
@pytest.mark.parametrize("image", [INTEGERS, IMAGE], ids=["int8", "float32"])
def test_windows_that_are_empty_or_stand_still(image, field):
    fields = {"stride_h": 1, "stride_w": 1, "filter_height": 1, "filter_width": 1, field: 0}
    kernel, strides = [fields["filter_height"], 1], [1, fields["stride_w"]]
    message = refusal("MAX_POOL_2D", [image], image, options("Pool2DOptions", **fields))
    assert message == f"kernel {kernel}, strides {strides} and dilations [1, 1] must be at least 1"


def test_kernel_over_more_real_numbers_than_kernels_of_integers_reach():
    table = options(
        "Pool2DOptions", padding=1, stride_h=1, stride_w=1, filter_height=2**16, filter_width=1
    )
    image = IMAGE(1, 2**16, 1, 1)
    import_tflite(one_operator("MAX_POOL_2D", [image], [image(1, 1, 1, 1)], table))


def ones(*shape: int) -> Constant:
    return Constant(np.ones(shape, np.float32))


@pytest.mark.parametrize(
    ("code", "inputs", "fields", "message"),
    [
        (
            "CONV_2D",
            [ones(5, 1, 1, 2)],
            {},
            "data of 3 channels does not go with a weight of shape [5, 1, 1, 2]",
        ),
        (
            "CONV_2D",
            [ones(3, 1, 1, 3), ones(1)],
            {},
            'bias "t2" has shape [1]; it should be [3]',
        ),
        (
            "DEPTHWISE_CONV_2D",
            [ones(1, 1, 1, 3)],
            {"depth_multiplier": 2},
            "3 channels and depth multiplier 2 do not go with a weight of 3 output channels",
        ),
    ],
)
def test_convolutions_of_real_numbers(code, inputs, fields, message):
    name = {"CONV_2D": "Conv2DOptions", "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions"}[code]
    table = options(name, stride_h=1, stride_w=1, **fields)
    assert refusal(code, [IMAGE, *inputs], IMAGE, table) == message


def test_convolution_of_no_channels():
    table = options("Conv2DOptions", stride_h=1, stride_w=1)
    assert refusal("CONV_2D", [IMAGE(1, 4, 4, 0), ones(5, 1, 1, 2)], IMAGE, table) == (
        "data of 0 channels does not go with a weight of shape [5, 1, 1, 2]"
    )


def test_volume_of_more_channels_than_the_weight():
    """LiteRT's kernel has no groups."""
    volume, table = IMAGE(1, 4, 4, 4, 4), options("Conv3DOptions")
    assert refusal("CONV_3D", [volume, ones(1, 1, 1, 2, 4)], volume, table) == (
        "data of 4 channels does not go with a weight of shape [1, 1, 1, 2, 4]"
    )


def test_bias_that_is_absent():
    """As one that is not an input at all."""
    table = options("Conv2DOptions", stride_h=1, stride_w=1)
    inputs = [IMAGE, ones(3, 1, 1, 3)]
    with_none, without = (
        import_tflite(one_operator("CONV_2D", given, [IMAGE], table))
        for given in ([*inputs, None], inputs)
    )
    tvm.ir.assert_structural_equal(
        with_none["main"].without_attr("output_names"), without["main"].without_attr("output_names")
    )


def test_inputs_of_two_types():
    inputs, output = [REAL, Spec((2, 3), 0, 0, "int32")], Spec((2, 3), 0, 0, "bool")
    assert refusal("LESS", inputs, output) == 'input "t1" is of type int32; supported: float32'


def test_terms_of_two_shapes():
    assert refusal("ADD_N", [REAL, REAL(3)], REAL) == (
        'input "t0" has shape [2, 3] and output "t1" has shape [3]; they must be the same'
    )


@pytest.mark.parametrize(
    ("depth", "axis", "message"),
    [
        (
            0,
            -1,
            "a depth of 0 and elements 1.0 and 0.0; the depth must be at least 1, and each be one "
            "number",
        ),
        (4, 3, "axis 3 of a tensor of 3 axes"),
        (4, -2, "axis -2; of negative axes, TFLite has only -1"),
    ],
)
def test_one_hot(depth, axis, message):
    given = [Spec((2, 3), 0, 0, "int32"), scalar(depth)]
    elements = [Constant(np.array(value, np.float32)) for value in (1, 0)]
    table = options("OneHotOptions", axis=axis)
    assert refusal("ONE_HOT", [*given, *elements], REAL(2, 3, 4), table) == message
