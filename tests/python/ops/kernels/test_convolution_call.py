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


@pytest.mark.parametrize("outputs", ["one_output", "three_outputs"])
def test_few_outputs_are_computed_of_four_pixels_on_vectors(outputs, monkeypatch):
    name = f"conv_2d_kernel_1x1_{outputs}"
    check_kernel(name, "cortex-m55", "4 pixels x 1 channel, vectors", monkeypatch)
