"""Convolutions without groups: their tiles, and what they have no kernel for."""

from __future__ import annotations

import numpy as np
import pytest

from ops.kernels.images.test_convolution_edges import DATA, LIMITS, OUTPUT, WEIGHT, operator
from support.kernel_loops import M4, check_loops, operator_call
from usmp.objects.schedule import SCHEDULE_ATTR, faster_schedules
from usmp.objects.target.cores import CORES
from usmp.ops import quantized
from usmp.ops.kernels.images.weighted_conv2d import conv2d_kernel
from usmp.ops.quantized import Layout, Rescale, Window
from usmp.ops.quantized.arithmetic import add
from usmp.ops.quantized.rescaling.fixed_point import quantize_multiplier

POINT = Window((4, 5), (1, 1), (1, 1), (1, 1), (0, 0), (4, 5))
PADDED = Window((4, 5), (3, 3), (1, 1), (1, 1), (1, 1), (4, 5))
INNER = Window((6, 7), (3, 3), (1, 1), (1, 1), (0, 0), (4, 5))
STRIDED = Window((4, 5), (1, 1), (2, 2), (1, 1), (0, 0), (2, 3))
SHIFTED = Window((4, 5), (1, 1), (1, 1), (1, 1), (1, 0), (5, 5))


def tiles_of(kernel):
    funcs = (kernel.func, *faster_schedules(kernel.func))
    return {SCHEDULE_ATTR.of(f).tile: SCHEDULE_ATTR.of(f).instructions for f in funcs}


@pytest.mark.parametrize(
    ("outputs", "tiles"),
    [
        (8, ["1 pixel x 6 channels", "2 pixels x 2 channels"]),
        (4, ["1 pixel x 4 channels", "2 pixels x 2 channels"]),
        (1, ["1 pixel x 1 channel", "2 pixels x 1 channel"]),
    ],
)
def test_tiles_are_of_one_or_two_pixels(outputs, tiles):
    assert list(tiles_of(conv2d_kernel(operator(INNER, 8, outputs), M4))) == tiles


@pytest.mark.cc
@pytest.mark.parametrize("window", [POINT, INNER, STRIDED, SHIFTED])
@pytest.mark.parametrize("core", ["cortex-m3", "cortex-m4"])
def test_loops_compute_the_operator(window, core):
    """Of several images; those of single pixels count as one row."""
    call = operator(window, 5, 7, batch=2)
    check_loops(call, conv2d_kernel(call, CORES[core]))


def test_single_pixels_are_one_row():
    """A row of 20 pixels has ten tiles of two; four rows of five would have eight."""
    sums = tiles_of(conv2d_kernel(operator(POINT, 16, 2), M4))
    # Of a tile: 16 for the pixel, 10 a run, 20/16 a product, 15 an output.
    assert sums["2 pixels x 2 channels"] == 10 * (16 + 10 + 80 + 4 * 15)
    sums = tiles_of(conv2d_kernel(operator(STRIDED, 16, 2), M4))
    single = 16 + 10 + 16 * 2 * 13 / 8 + 2 * 15
    assert sums["1 pixel x 2 channels"] == 6 * int(single)


def test_data_with_its_channels_first_is_copied_if_a_window_is_small():
    assert conv2d_kernel(operator(PADDED, 28, 4, "NCHW"), M4) is not None
    assert conv2d_kernel(operator(PADDED, 29, 4, "NCHW"), M4) is None
    assert conv2d_kernel(operator(PADDED, 29, 4), M4) is not None


def added(shape):
    """A convolution of single pixels to which another tensor is added."""
    rescale = Rescale((quantize_multiplier(0.01),), OUTPUT, LIMITS)
    weight = np.random.default_rng(0).integers(-127, 128, (8, 1, 1, 8)).astype(np.int8)

    def make(builder, data, other):
        ends = (POINT, DATA, rescale, Layout("NHWC"), WEIGHT)
        result = builder.emit(quantized.conv2d(builder, data, weight, None, *ends))
        return add(builder, result, other, (OUTPUT, DATA, OUTPUT), OUTPUT.limits())

    return operator_call(make, (1, 4, 5, 8), shape)


@pytest.mark.cc
@pytest.mark.parametrize("shape", [(1, 4, 5, 8), (8,), (4, 5, 8), (1, 4, 1, 1), (1, 1, 5, 8)])
def test_other_tensors_have_the_place_of_the_pixel(shape):
    """Where they have another shape, pixels are no single row."""
    call = added(shape)
    check_loops(call, conv2d_kernel(call, M4))


def test_convolutions_in_groups_have_other_kernels():
    rescale = Rescale((quantize_multiplier(0.01),), OUTPUT, LIMITS)
    weight = np.ones((4, 3, 3, 2), np.int8)
    call = operator_call(
        lambda builder, data: quantized.conv2d(
            builder, data, weight, None, PADDED, DATA, rescale, Layout("NHWC"), WEIGHT
        ),
        (1, 4, 5, 4),
    )
    assert conv2d_kernel(call, M4) is None
