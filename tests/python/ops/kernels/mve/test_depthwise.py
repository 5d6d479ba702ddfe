"""Convolutions of each channel by itself, 16 channels at a time."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import tirx

from support.kernel_loops import M4, M55, check_loops, operator_call
from usmp.objects.schedule import SCHEDULE_ATTR
from usmp.ops import quantized
from usmp.ops.kernels.mve.depthwise import mve_depthwise_kernel
from usmp.ops.quantized import Layout, OutputLimits, Quantization, Rescale, Window
from usmp.ops.quantized.rescaling.fixed_point import quantize_multiplier
from usmp.tir.nodes import nodes_of
from usmp.tir.tensor_intrin import intrinsic_call

DATA = Quantization("int8", (0.1,), (-7,))
OUTPUT = Quantization("int8", (0.1,), (5,))
WINDOWS = {
    "padded": Window((4, 5), (3, 3), (1, 1), (1, 1), (1, 1), (4, 5)),
    "strided": Window((5, 6), (3, 2), (2, 2), (1, 1), (0, 1), (2, 3)),
    "dilated": Window((5, 5), (2, 3), (1, 1), (2, 2), (1, 2), (5, 5)),
    "one tap": Window((2, 3), (1, 1), (1, 1), (1, 1), (0, 0), (2, 3)),
    "column": Window((7, 1), (3, 1), (2, 1), (1, 1), (1, 0), (4, 1)),
    "column and padding": Window((7, 1), (3, 3), (1, 1), (1, 1), (1, 1), (7, 1)),
}


def operator(window, channels, batch=1, weight=None, layout="NHWC"):
    generator = np.random.default_rng(1)
    if weight is None:
        weight = generator.integers(-127, 128, (*window.kernel, channels)).astype(np.int8)
    bias = generator.integers(-900, 900, channels).astype(np.int32)
    factors = tuple(quantize_multiplier(0.01 + 0.001 * c) for c in range(channels))
    rescale = Rescale(factors, OUTPUT, OutputLimits("int8", -120, 110))

    def make(builder, data):
        return quantized.depthwise_conv2d(
            builder, data, weight, bias, window, DATA, rescale, Layout(layout), OUTPUT_WEIGHT
        )

    return operator_call(make, (batch, *window.data, channels))


OUTPUT_WEIGHT = Quantization("int8", (0.1,), (0,))


def calls_of(kernel):
    calls = map(intrinsic_call, nodes_of(kernel.func.body, tirx.AttrStmt))
    return [call for call in calls if call is not None]


@pytest.mark.cc
@pytest.mark.parametrize(
    ("window", "channels", "batch"),
    [*((name, 16, 1) for name in WINDOWS), ("padded", 4, 2), ("strided", 19, 1), ("column", 5, 2)],
)
def test_loops_compute_the_operator(window, channels, batch):
    call = operator(WINDOWS[window], channels, batch)
    check_loops(call, mve_depthwise_kernel(call, M55))


@pytest.mark.parametrize(
    ("kernel", "room"),
    [((3, 3), 9), ((1, 1), 16), ((2, 5), 16), ((4, 4), 16), ((1, 17), 64), ((8, 8), 64)],
)
def test_functions_are_for_9_or_up_to_16_or_64_taps(kernel, room):
    window = Window((9, 20), kernel, (1, 1), (1, 1), (0, 0), (10 - kernel[0], 21 - kernel[1]))
    (call,) = calls_of(mve_depthwise_kernel(operator(window, 16), M55))
    assert str(call.args[0].value) == f"tvmgen_mve_depthwise_row_{room}"


def test_what_functions_are_told_of_the_window():
    """Data of one column is taken as one row."""
    for name, ends in (
        ("strided", [6, 16, 3, 2, 2, 1, 1, -1, 3]),
        ("column", [7, 16, 1, 3, 2, 1, 1, -1, 4]),
        ("column and padding", [1, 16, 3, 3, 1, 1, 1, -1, 1]),
        ("dilated", [5, 16, 2, 3, 1, 2, 2, -2, 5]),
    ):
        (call,) = calls_of(mve_depthwise_kernel(operator(WINDOWS[name], 16), M55))
        assert [int(argument) for argument in call.args[7:16]] == ends, name
        assert [int(argument) for argument in call.args[16:]] == [-7, 5, -120, 110]


def test_weights_are_packed_by_lanes():
    """Few channels are repeated; other lanes are zero; there is room for two taps."""
    window = WINDOWS["one tap"]

    def packed(channels):
        weight = np.arange(1, 1 + channels, dtype=np.int8).reshape(1, 1, channels)
        return mve_depthwise_kernel(operator(window, channels, weight=weight), M55).arguments[1]

    assert packed(4).tolist() == [1, 2, 3, 4] * 4 + [0] * 16
    assert packed(6).tolist() == [*range(1, 7), *[0] * 26]
    assert packed(18).tolist() == [*range(1, 17), *[0] * 16, 17, 18, *[0] * 30]


def test_schedules_are_of_one_pixel():
    schedule = SCHEDULE_ATTR.of(mve_depthwise_kernel(operator(WINDOWS["padded"], 16), M55).func)
    assert schedule.tile == "1 pixel x 16 channels, vectors"
    assert schedule.instructions == 4 * (140 + 5 * (40 + 9 * 9))


def test_other_convolutions_stay():
    window = WINDOWS["padded"]
    assert mve_depthwise_kernel(operator(window, 16), M4) is None
    lowest = np.full((3, 3, 16), -128, np.int8)
    assert mve_depthwise_kernel(operator(window, 16, weight=lowest), M55) is None
    assert mve_depthwise_kernel(operator(window, 16, weight=lowest + 1), M55) is not None
    many = Window((9, 20), (5, 13), (1, 1), (1, 1), (0, 0), (5, 8))
    assert mve_depthwise_kernel(operator(many, 16), M55) is None
