"""Groups of a convolution that vectors compute, and what they take of the stack."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import tirx

from ops.kernels.images.test_grouped_conv2d import DILATED, POINT, WINDOW, operator
from support.kernel_loops import check_loops
from usmp.objects.schedule import SCHEDULE_ATTR, faster_schedules
from usmp.objects.target.cores import CORES
from usmp.ops.kernels.mve.grouped_conv2d import mve_grouped_conv2d_kernel
from usmp.tir.nodes import nodes_of
from usmp.tir.tensor_intrin import intrinsic_call


def kernel_of(channels, groups, layout="NHWC", core="cortex-m55", **fields):
    return mve_grouped_conv2d_kernel(operator(channels, groups, layout, **fields), CORES[core])


@pytest.mark.parametrize(
    ("channels", "window", "tile", "functions", "stack"),
    [
        # A row of five pixels: windows of 3 x 7 pixels, and the outputs.
        (8, WINDOW, "2 pixels x 4 channels", ["2x4_rows", "1x4_rows"], [40, 84]),
        # Two pixels fit, then: 3 x 4 of them, and the last one.
        (160, WINDOW, "2 pixels x 4 channels", ["2x4_rows", "1x4_rows"], [16, 960, 720]),
        # 3 x 101 columns of a row are too many for one pointer.
        (202, WINDOW, "1 pixel x 4 channels", ["1x4_rows"], [8, 909]),
        # Each window of 3 x 3 x 4 by itself.
        (8, DILATED, "2 pixels x 4 channels", ["2x4", "1x4"], [40, 180]),
        # Two windows of 3 x 3 x 54, and one.
        (108, DILATED, "2 pixels x 4 channels", ["2x4_rows", "1x4_rows"], [16, 972, 486]),
    ],
)
def test_as_many_pixels_at_once_as_fit_the_stack(channels, window, tile, functions, stack):
    func = kernel_of(channels, 2, window=window).func
    assert SCHEDULE_ATTR.of(func).tile == f"{tile}, vectors, 2 groups"
    assert faster_schedules(func) == ()
    calls = [intrinsic_call(stmt).args[0].value for stmt in nodes_of(func.body, tirx.AttrStmt)]
    convolutions = [name for name in calls if "conv2d" in name]
    assert convolutions == [f"tvmgen_mve_conv2d_{name}" for name in functions]
    buffers = [stmt.buffer for stmt in nodes_of(func.body, tirx.AllocBuffer)]
    assert [int(b.shape[0]) for b in buffers if str(b.dtype) == "int8"] == stack


@pytest.mark.cc
@pytest.mark.parametrize(
    ("channels", "groups", "window"),
    [
        # All pixels of a row at once; two and the last one; one by one; four channels of two.
        (8, 2, WINDOW),
        (160, 2, WINDOW),
        (202, 2, WINDOW),
        (108, 2, DILATED),
        (8, 4, WINDOW),
    ],
)
def test_loops_compute_the_operator(channels, groups, window):
    call = operator(channels, groups, window=window)
    computed = check_loops(call, mve_grouped_conv2d_kernel(call, CORES["cortex-m55"]))
    assert len(np.unique(computed)) > 2


def test_two_channels_of_a_group_are_computed_of_four_pixels_at_once():
    kernel = kernel_of(8, 4)
    assert SCHEDULE_ATTR.of(kernel.func).tile == "4 pixels x 1 channel, vectors, 4 groups"
    calls = [intrinsic_call(stmt) for stmt in nodes_of(kernel.func.body, tirx.AttrStmt)]
    (call,) = (call for call in calls if "conv2d" in call.args[0].value)
    assert call.args[0].value == "tvmgen_mve_conv2d_4x1"
    # Three vectors of weights and a record for each of the eight channels.
    assert [values.size for values in kernel.arguments[1:]] == [8 * 3 * 16, 8 * 2]


@pytest.mark.parametrize("window", [WINDOW, DILATED])
def test_windows_that_are_larger_than_what_the_stack_is_used_for_stay_in_place(window):
    func = kernel_of(240, 2, window=window).func
    assert (
        SCHEDULE_ATTR.of(func).tile == "1 pixel x 4 channels, vectors, 2 groups, windows in place"
    )
    assert faster_schedules(func) == ()
    calls = [intrinsic_call(stmt).args[0].value for stmt in nodes_of(func.body, tirx.AttrStmt)]
    assert calls == ["tvmgen_mve_conv2d_taps"]
    assert [b.buffer.name for b in nodes_of(func.body, tirx.AllocBuffer)] == ["acc"]


@pytest.mark.slow
def test_other_convolutions_stay():
    assert kernel_of(8, 2, core="cortex-m4") is None
    assert kernel_of(8, 1) is None
    assert kernel_of(8, 2, "NCHW") is None
    # Dot products are faster for two channels of each group.
    assert kernel_of(8, 2, window=DILATED, outputs=4) is None
    assert kernel_of(240, 2, outputs=4) is None
    # One row of taps, and more outputs than the stack is used for.
    assert kernel_of(8, 2, window=POINT, outputs=1032) is None
    # Functions keep 128 addresses of rows: 3 x 3 taps of 15 rows of 229 channels are more.
    assert kernel_of(2 * 15 * 229, 2) is None
