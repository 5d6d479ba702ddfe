"""Convolutions have the kernel that suits their groups, whichever operator says them."""

from __future__ import annotations

import pytest

from support.kernel_models import check_kernel

pytestmark = pytest.mark.models

SCHEDULES = {
    "depthwise_conv_2d_multiplier_8_one_channel": "2 pixels x 2 channels",
    "depthwise_conv_2d_one_input_channel": "1 pixel x 1 channel",
    "depthwise_conv_2d_multiplier_2": "2 pixels x 2 channels, 5 groups",
    "depthwise_conv_2d_multiplier_2_dilation": "5 groups",
    "depthwise_conv_2d_multiplier_3_stride_2": "5 groups",
    "conv_2d_groups_3_stride_2": "3 groups",
    "conv_2d_groups_as_channels": "1 pixel x 4 channels",
}


@pytest.mark.parametrize("core", ["cortex-m3", "cortex-m4"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_models(name, core, monkeypatch):
    check_kernel(name, core, SCHEDULES[name], monkeypatch)


@pytest.mark.parametrize(
    "name",
    [
        "kernel_1x1_one_output",
        "kernel_1x1_three_outputs",
        "kernel_1x1_more_outputs",
        "two_outputs_stride_2",
        "two_outputs_dilation_2x1",
    ],
)
def test_few_outputs_are_computed_of_four_pixels_on_vectors(name, monkeypatch):
    tile = "4 pixels x 1 channel, vectors"
    check_kernel(f"conv_2d_{name}", "cortex-m55", tile, monkeypatch)


def test_pixels_of_the_left_are_kept_where_they_would_lie_over_others(monkeypatch):
    tile = "4 pixels x 1 channel, vectors, windows on the stack, the left ones copied"
    check_kernel("conv_2d_two_outputs_of_a_row", "cortex-m55", tile, monkeypatch)
