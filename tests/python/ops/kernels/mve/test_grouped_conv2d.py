"""Groups of a convolution that vectors compute, and what they take of the stack."""

from __future__ import annotations

import pytest
from tvm import tirx

from ops.kernels.test_grouped_conv2d import operator
from usmp.objects.cores import CORES
from usmp.objects.schedule import faster_schedules, schedule_of
from usmp.ops.kernels.mve.grouped_conv2d import mve_grouped_conv2d_kernel
from usmp.tir.nodes import nodes_of
from usmp.tir.tensor_intrin import intrinsic_call


def kernel_of(channels, groups, layout="NHWC", core="cortex-m55"):
    return mve_grouped_conv2d_kernel(operator(channels, groups, layout), CORES[core])


@pytest.mark.parametrize(
    ("channels", "tile", "functions", "stack"),
    [
        # A row of five pixels: windows of 3 x 7 pixels, and the outputs.
        (8, "2 pixels x 4 channels", ["2x4_rows", "1x4_rows"], [40, 84]),
        # Two pixels fit, then: 3 x 4 of them, and the last one.
        (160, "2 pixels x 4 channels", ["2x4_rows", "1x4_rows"], [16, 960, 720]),
        # 3 x 101 columns of a row are too many for one pointer.
        (202, "1 pixel x 4 channels", ["1x4_rows"], [8, 909]),
    ],
)
def test_as_many_pixels_at_once_as_fit_the_stack(channels, tile, functions, stack):
    func = kernel_of(channels, 2).func
    assert schedule_of(func).tile == f"{tile}, vectors, 2 groups"
    assert faster_schedules(func) == ()
    calls = [intrinsic_call(stmt).args[0].value for stmt in nodes_of(func.body, tirx.AttrStmt)]
    convolutions = [name for name in calls if "conv2d" in name]
    assert convolutions == [f"tvmgen_mve_conv2d_{name}" for name in functions]
    buffers = [stmt.buffer for stmt in nodes_of(func.body, tirx.AllocBuffer)]
    assert [int(b.shape[0]) for b in buffers if str(b.dtype) == "int8"] == stack


def test_other_convolutions_stay():
    assert kernel_of(8, 2, core="cortex-m4") is None
    assert kernel_of(8, 1) is None
    assert kernel_of(8, 2, "NCHW") is None
    # The windows of one pixel are larger than what the stack is used for.
    assert kernel_of(240, 2) is None
