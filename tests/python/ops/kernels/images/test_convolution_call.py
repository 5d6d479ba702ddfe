"""Convolutions have the kernel that suits their groups, whichever operator says them."""

from __future__ import annotations

from itertools import cycle, product

import pytest

from support.kernel_models import check_functions_and_loops, check_outputs, check_schedule
from support.levels import in_long_run

pytestmark = [pytest.mark.models, pytest.mark.slow]

SCHEDULES = {
    "depthwise_conv_2d_multiplier_8_one_channel": "2 pixels x 2 channels",
    "depthwise_conv_2d_one_input_channel": "1 pixel x 1 channel",
    "depthwise_conv_2d_multiplier_2": "2 pixels x 2 channels, 5 groups",
    "depthwise_conv_2d_multiplier_2_dilation": "5 groups",
    "depthwise_conv_2d_multiplier_3_stride_2": "5 groups",
    "conv_2d_groups_3_stride_2": "3 groups",
    "conv_2d_groups_as_channels": "1 pixel x 4 channels",
}


CORES = ["cortex-m3", "cortex-m4"]
FOUR_PIXELS = "4 pixels x 1 channel, vectors"
ON_VECTORS = {
    "conv_2d_kernel_1x1_one_output": FOUR_PIXELS,
    "conv_2d_kernel_1x1_three_outputs": FOUR_PIXELS,
    "conv_2d_kernel_1x1_more_outputs": FOUR_PIXELS,
    "conv_2d_two_outputs_stride_2": FOUR_PIXELS,
    "conv_2d_two_outputs_dilation_2x1": FOUR_PIXELS,
    # Pixels of the left are kept where they would lie over others.
    "conv_2d_two_outputs_of_a_row": f"{FOUR_PIXELS}, windows on the stack, the left ones copied",
}
CASES = [
    *((name, core, SCHEDULES[name]) for name, core in zip(SCHEDULES, cycle(CORES), strict=False)),
    *((name, "cortex-m55", tile) for name, tile in ON_VECTORS.items()),
]
"""Models, cores, and what the schedules say."""
SHORT = [(name, core) for name, core, _ in CASES]


def test_functions_and_loops():
    """Each by one of the cores without vectors; in a long run, by both."""
    others = in_long_run([each for each in product(SCHEDULES, CORES) if each not in SHORT])
    check_functions_and_loops([*SHORT, *others])


@pytest.mark.parametrize(("name", "core", "schedule"), CASES)
def test_schedules(name, core, schedule):
    check_schedule(name, core, schedule)


@pytest.mark.parametrize(
    ("name", "core"),
    [
        ("depthwise_conv_2d_multiplier_2", "cortex-m4"),
        ("conv_2d_groups_as_channels", "cortex-m3"),
        ("conv_2d_two_outputs_of_a_row", "cortex-m55"),
    ],
)
def test_outputs(name, core):
    check_outputs(name, core)
