"""Operators for cores with MVE compute the bytes of tflite-micro: the loops that analyses see, and
the functions that C calls, whose portable bodies run on this host."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tvm import tirx

import usmp
from support.built_ways import DISJOINT, Way, available, real_model
from support.c_program import SANITIZERS, sanitizing_compiler
from support.imported_models import imported_model
from support.kernel_models import (
    check_functions_and_loops,
    check_outputs,
    check_schedule,
    kernel_bodies,
)
from support.levels import sample
from usmp.tir.nodes import nodes_of
from usmp.tir.tensor_intrin import intrinsic_call

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


TILES = {
    "conv_2d_dilation_2_valid": "1 pixel x 4 channels, vectors, windows on",
    "conv_2d_dilation_of_many_channels": "1 pixel x 4 channels, vectors, windows on",
    "sequence_conv_dilation_leaky_relu": "2 pixels x 4 channels, vectors, windows on",
    "conv_2d_dilation_of_very_many_channels": "vectors, windows in place",
    "conv_2d_very_many_channels_valid": "vectors, windows in place",
    "conv_2d_groups_dilation_2": "2 pixels x 4 channels, vectors, 2 groups",
    "conv_2d_groups_dilation_1x3_three_outputs": "4 pixels x 1 channel, vectors, 2 groups",
    "conv_2d_groups_of_very_many_channels": "vectors, 2 groups, windows in place",
    "conv_2d_groups_of_very_many_channels_dilation": "vectors, 2 groups, windows in place",
    "sequence_wide_groups_leaky_relu": "vectors, 2 groups, windows in place",
    "sequence_conv_leaky_relu": "4 channels",
    "sequence_conv_1x1_quantize": "4 channels",
    "sequence_depthwise_hard_swish": "16 channels",
    "sequence_groups_leaky_relu": "2 groups",
}
"""Models of windows that are copied or in place, and of a function after a sum; their schedules."""
FIRST = {function: name for name, function in reversed(FUNCTIONS.items())}
"""One model for each function."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "names", [[*FIRST.values(), *sample(FUNCTIONS, 2)], TILES], ids=["functions", "tiles"]
)
def test_functions_and_loops_compute_what_the_operator_does(names):
    """LLVM computes loops, not functions."""
    check_functions_and_loops((name, "cortex-m55") for name in dict.fromkeys(names))


def called_by(body):
    """Names of the functions that a kernel calls."""
    calls = map(intrinsic_call, nodes_of(body.func.body, tirx.AttrStmt))
    return {call.args[0].value for call in calls if call is not None}


@pytest.mark.slow
def test_kernels_call_functions():
    missing = {}
    for name, function in FUNCTIONS.items():
        bodies = kernel_bodies(imported_model(name), "cortex-m55")
        called = set().union(*map(called_by, bodies))
        if not any(f"{call}(".startswith(function) for call in called):
            missing[name] = called
    assert missing == {}


@pytest.mark.parametrize("function", sample(FIRST, 10))
def test_outputs(function):
    assert f"  {function}" in check_outputs(FIRST[function], "cortex-m55")


@pytest.mark.slow
@pytest.mark.parametrize("name", sample(TILES, 8))
def test_windows_and_functions_after_sums_take_no_more_memory(name):
    check_schedule(name, "cortex-m55", TILES[name])


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", sample(["mlperf_kws_int8", "mlperf_strww_int8", "mlperf_ad01_int8"], 1)
)
def test_models(shared_model, name):
    poisoned = Way(target=TARGET, poison=True, proof=False)
    matrix, expected = real_model(shared_model(name), 3, UNPROVED)
    ways = [replace(poisoned, flags=tuple(SANITIZERS), compiler=sanitizing_compiler())]
    assert matrix.failures(available(ways), expected) == []


@pytest.mark.slow
def test_an_addition_after_a_convolution(shared_model):
    mod = usmp.import_model(shared_model("mlperf_resnet8_int8"))
    bodies = kernel_bodies(mod, "cortex-m55")
    added = {body.operator.title for body in bodies if "tvmgen_mve_add" in called_by(body)}
    assert len(added) == 3
    assert all("CONV_2D" in title for title in added)
