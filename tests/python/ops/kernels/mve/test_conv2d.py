"""Convolutions that vectors compute, and where windows are that do not lie in one row."""

from __future__ import annotations

import pytest
from tvm import tirx

from ops.kernels.images.test_grouped_conv2d import DILATED, POINT, WINDOW, operator
from usmp.objects.schedule import ROW_SCHEDULE_ATTR, SCHEDULE_ATTR, faster_schedules
from usmp.objects.target.cores import CORES
from usmp.ops.kernels.mve.conv2d import mve_conv2d_kernel
from usmp.tir.nodes import nodes_of
from usmp.tir.tensor_intrin import intrinsic_call

TWO = "2 pixels x 4 channels, vectors"
ON_THE_STACK = f"{TWO}, windows on the stack"
IN_PLACE = "1 pixel x 4 channels, vectors, windows in place"


def kernel_of(channels, window, **fields):
    return mve_conv2d_kernel(operator(channels, 1, window=window, **fields), CORES["cortex-m55"])


def scratch_of(func):
    """Bytes of windows: in pools, and on the stack."""
    buffers = [stmt.buffer for stmt in nodes_of(func.body, tirx.AllocBuffer)]
    return [(b.scope(), int(b.shape[0])) for b in buffers if str(b.dtype) == "int8"]


@pytest.mark.parametrize(
    ("channels", "window", "tiles", "scratch"),
    [
        (56, DILATED, [ON_THE_STACK, TWO], [("local", 2 * 504)]),
        # Two windows are too much for the stack.
        (
            57,
            DILATED,
            ["1 pixel x 4 channels, vectors, windows on the stack", TWO],
            [("local", 513)],
        ),
        (
            113,
            DILATED,
            ["1 pixel x 4 channels, vectors, windows on the stack", TWO],
            [("local", 1017)],
        ),
        # One window is.
        (114, DILATED, [IN_PLACE, TWO], []),
        (114, WINDOW, [IN_PLACE, TWO], []),
        # Windows lie in the data but at its borders.
        (56, WINDOW, [ON_THE_STACK, TWO], [("local", 504)]),
    ],
)
def test_windows_on_the_stack_and_in_place(channels, window, tiles, scratch):
    func = kernel_of(channels, window).func
    assert [SCHEDULE_ATTR.of(f).tile for f in (func, *faster_schedules(func))] == tiles
    assert scratch_of(func) == scratch


def test_single_pixels_have_a_way_by_rows():
    """Its pixels are written where they stay: of operators that run interleaved, nothing that is
    read lies there."""
    func = kernel_of(16, POINT).func
    rows = ROW_SCHEDULE_ATTR.of(func)
    assert [SCHEDULE_ATTR.of(f).tile for f in (func, rows)] == [f"{TWO}, copied", TWO]
    assert (int(rows.body.extent), scratch_of(rows)) == (4, [])
    calls = map(intrinsic_call, nodes_of(rows.body, tirx.AttrStmt))
    pixels = [(str(call.args[0].value), int(call.args[7])) for call in calls]
    assert pixels == [("tvmgen_mve_conv2d_2x4", 4), ("tvmgen_mve_conv2d_1x4", 1)]


def test_windows_are_by_rows_anyway():
    assert ROW_SCHEDULE_ATTR.of(kernel_of(16, WINDOW).func) is None


def test_other_convolutions_stay():
    # Dot products are faster for two channels.
    assert kernel_of(8, DILATED, outputs=2) is None
    # Functions keep 128 addresses of rows: 3 x 3 taps of 15 rows of 229 channels are more, and a
    # copy in a pool would raise its peak.
    assert kernel_of(15 * 229, DILATED) is None
