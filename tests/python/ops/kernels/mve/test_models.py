"""Operators for cores with MVE compute the bytes of tflite-micro: the loops that analyses see, and
the functions that C calls, whose portable bodies run on this host."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.built_ways import DISJOINT, Matrix, Way, available, model_of_suite, real_model
from support.c_program import SANITIZERS
from support.kernel_models import check_kernel
from support.quantized_models import CATALOG
from usmp.objects.cores import CORES
from usmp.planning.session import planning_session

pytestmark = pytest.mark.models

TARGET = "c -mcpu=cortex-m55"
UNPROVED = replace(DISJOINT, proof=False)
"""Only what it computes matters, not its bytes."""
FUNCTIONS = {
    "conv_2d_same": "tvmgen_mve_window(",
    "conv_2d_kernel_1x1": "tvmgen_mve_conv2d_",
    "conv_2d_kernel_1x1_one_output": "tvmgen_mve_conv2d_4x1(",
    "conv_2d_kernel_1x1_three_outputs": "tvmgen_mve_conv2d_4x1(",
    "conv_2d_kernel_1x1_more_outputs": "tvmgen_mve_conv2d_4x1(",
    "conv_2d_one_output_of_many_inputs": "tvmgen_mve_conv2d_4x1(",
    "conv_2d_two_outputs_stride_2": "tvmgen_mve_conv2d_4x1(",
    "conv_2d_two_outputs_of_a_row": "tvmgen_mve_conv2d_4x1(",
    "conv_2d_two_outputs_dilation_2x1": "tvmgen_mve_conv2d_4x1(",
    "conv_2d_kernel_2x2_stride_2_valid": "tvmgen_mve_conv2d_",
    "conv_2d_kernel_larger_than_input": "tvmgen_mve_window(",
    "conv_2d_dilation_3x1_valid": "tvmgen_mve_conv2d_",
    "conv_2d_dilation_2_same": "tvmgen_mve_window(",
    "conv_2d_dilation_2_stride_2": "tvmgen_mve_window(",
    "conv_2d_dilation_1x3": "tvmgen_mve_window(",
    "conv_2d_dilation_of_many_channels": "tvmgen_mve_window(",
    "conv_2d_dilation_of_very_many_channels": "tvmgen_mve_conv2d_taps(",
    "conv_2d_random_8": "tvmgen_mve_conv2d_2x4_rows_up(",
    "conv_2d_two_batches": "tvmgen_mve_conv2d_",
    "conv_2d_one_input_channel": "tvmgen_mve_conv2d_",
    "conv_2d_first_layer": "tvmgen_mve_conv2d_",
    "conv_2d_random_12": "tvmgen_mve_window(",
    "conv_2d_groups_2": "tvmgen_mve_conv2d_1x4_rows(",
    "conv_2d_groups_3_stride_2": "tvmgen_mve_conv2d_4x1(",
    "conv_2d_groups_1x1": "tvmgen_mve_conv2d_2x4(",
    "conv_2d_groups_of_many_channels": "tvmgen_mve_conv2d_1x4_rows(",
    "conv_2d_groups_dilation_2x1": "tvmgen_mve_conv2d_2x4_rows(",
    "conv_2d_groups_dilation_2": "tvmgen_mve_window(",
    "conv_2d_groups_dilation_3_kernel_2x1": "tvmgen_mve_window(",
    "conv_2d_groups_dilation_1x3_three_outputs": "tvmgen_mve_window(",
    "conv_2d_groups_of_very_many_channels": "tvmgen_mve_conv2d_taps(",
    "conv_2d_groups_of_very_many_channels_dilation": "tvmgen_mve_conv2d_taps(",
    "depthwise_conv_2d_kernel_larger_than_input": "tvmgen_mve_depthwise_row_",
    "depthwise_conv_2d_same": "tvmgen_mve_depthwise_row_9(",
    "depthwise_conv_2d_one_input_channel": "tvmgen_mve_conv2d_",
    "depthwise_conv_2d_multiplier_8_one_channel": "tvmgen_mve_conv2d_2x4",
    "depthwise_conv_2d_multiplier_2": "tvmgen_mve_conv2d_4x1(",
    "depthwise_conv_2d_multiplier_3_stride_2": "tvmgen_mve_conv2d_1x4_rows(",
    "conv_2d_groups_as_channels": "tvmgen_mve_depthwise_row_9(",
    "depthwise_conv_2d_kernel_4x3_valid": "tvmgen_mve_depthwise_row_16(",
    "depthwise_conv_2d_one_column": "tvmgen_mve_depthwise_row_",
    "depthwise_conv_2d_random_5": "tvmgen_mve_depthwise_row_",
    "depthwise_conv_2d_random_21": "tvmgen_mve_depthwise_row_",
    "fully_connected_rows": "tvmgen_mve_conv2d_1x4",
    "fully_connected_long": "tvmgen_mve_conv2d_",
    "average_pool_2d_valid": "tvmgen_mve_average_pool(",
    "average_pool_2d_global": "tvmgen_mve_average_pool(",
    "average_pool_2d_same": "tvmgen_mve_average_pool(",
    "average_pool_2d_window_2x2_stride_2": "tvmgen_mve_average_pool(",
    "mean_height_width": "tvmgen_mve_sums(",
    "mean_many_channels": "tvmgen_mve_sums(",
    "mean_many_pixels": "tvmgen_mve_sums(",
    "sum_height_width": "tvmgen_mve_sums(",
    "max_pool_2d_same": "tvmgen_mve_max_pool(",
    "max_pool_2d_window_1x4": "tvmgen_mve_max_pool(",
    "add_same_shape": "tvmgen_mve_add(",
    "add_broadcast_one_number": "tvmgen_mve_fill(",
    "sub_same_shape": "tvmgen_mve_add(",
    "sub_scale_ratio_1000": "tvmgen_mve_add(",
    "sub_equal_scales": "tvmgen_mve_add(",
    "sub_constant_number": "tvmgen_mve_fill(",
    "maximum_same_shape": "tvmgen_mve_maximum(",
    "minimum_broadcast_one_number": "tvmgen_mve_minimum(",
    "quantize_int8_to_int8": "tvmgen_mve_requantize(",
    "quantize_int8_to_int8_finer": "tvmgen_mve_requantize(",
    "relu_coarser": "tvmgen_mve_requantize(",
    "relu_multiplier_above_one": "tvmgen_mve_requantize(",
    "leaky_relu_tenth": "tvmgen_mve_look_up(",
    "hard_swish_image": "tvmgen_mve_look_up(",
    "sequence_conv_leaky_relu": "tvmgen_mve_look_up(",
    "sequence_conv_1x1_quantize": "tvmgen_mve_requantize(",
    "sequence_depthwise_hard_swish": "tvmgen_mve_look_up(",
    "sequence_groups_leaky_relu": "tvmgen_mve_look_up(",
    "sequence_dense_leaky_relu": "tvmgen_mve_look_up(",
    "mul_same_shape": "tvmgen_mve_multiply(",
    "mul_zero_points_lowest": "tvmgen_mve_multiply(",
}
"""Models of one operator, and a function that computes it."""


def model_named(name: str) -> tuple[Matrix, bytes]:
    return model_of_suite(next(model for model in CATALOG if model.name == name), 3)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_and_loops_compute_what_the_operator_does(name, monkeypatch):
    """LLVM computes loops, not functions."""
    matrix, expected = model_named(name)
    way = Way(target=TARGET, poison=True, flags=tuple(SANITIZERS))
    assert matrix.failures(available([way]), expected) == []
    source = next(v for k, v in matrix.factory(way).files().items() if k.endswith("lib0.c"))
    assert f"  {FUNCTIONS[name]}".encode() in source
    monkeypatch.setattr("usmp.aot_pipeline.core_of", lambda _: CORES["cortex-m55"])
    assert matrix.failures([Way(target="llvm")], expected) == []


@pytest.mark.parametrize(
    ("name", "tile"),
    [
        ("conv_2d_dilation_2_valid", "1 pixel x 4 channels, vectors, windows on"),
        (
            "conv_2d_dilation_of_many_channels",
            "1 pixel x 4 channels, vectors, windows on",
        ),
        (
            "sequence_conv_dilation_leaky_relu",
            "2 pixels x 4 channels, vectors, windows on",
        ),
        ("conv_2d_dilation_of_very_many_channels", "vectors, windows in place"),
        ("conv_2d_very_many_channels_valid", "vectors, windows in place"),
        ("conv_2d_groups_dilation_2", "2 pixels x 4 channels, vectors, 2 groups"),
        ("conv_2d_groups_dilation_1x3_three_outputs", "4 pixels x 1 channel, vectors, 2 groups"),
        ("conv_2d_groups_of_very_many_channels", "vectors, 2 groups, windows in place"),
        ("conv_2d_groups_of_very_many_channels_dilation", "vectors, 2 groups, windows in place"),
        ("sequence_wide_groups_leaky_relu", "vectors, 2 groups, windows in place"),
    ],
)
def test_windows_that_are_copied_or_in_place_take_no_more_memory(name, tile, monkeypatch):
    check_kernel(name, "cortex-m55", tile, monkeypatch)


@pytest.mark.parametrize("name", ["mlperf_kws_int8", "mlperf_strww_int8", "mlperf_ad01_int8"])
def test_models(shared_model, name):
    poisoned = Way(target=TARGET, poison=True, proof=False)
    ways = [replace(poisoned, flags=tuple(SANITIZERS)), replace(poisoned, poison=False)]
    with planning_session():
        matrix, expected = real_model(shared_model(name), 3, UNPROVED)
        assert matrix.failures(available(ways), expected) == []


def test_an_addition_after_a_convolution(shared_model):
    matrix, expected = real_model(shared_model("mlperf_resnet8_int8"), 2, UNPROVED)
    way = Way(target=TARGET, poison=True, proof=False)
    assert matrix.failures(available([way]), expected) == []
    source = next(v for k, v in matrix.factory(way).files().items() if k.endswith("lib0.c"))
    assert source.count(b"  tvmgen_mve_add(") >= 3


@pytest.mark.parametrize(
    ("name", "tile"),
    [
        ("conv_leaky_relu", "4 channels"),
        ("conv_1x1_quantize", "4 channels"),
        ("depthwise_hard_swish", "16 channels"),
        ("groups_leaky_relu", "2 groups"),
    ],
)
def test_a_function_after_a_sum_takes_no_more_memory(name, tile, monkeypatch):
    check_kernel(f"sequence_{name}", "cortex-m55", tile, monkeypatch)
