"""Which pools vectors compute."""

from __future__ import annotations

import pytest
from tvm import tirx

from ops.kernels.sums.test_pooling import operator, pool
from usmp.objects.schedule import SCHEDULE_ATTR
from usmp.objects.target.cores import CORES
from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.mve.pooling import mve_pool_kernel
from usmp.ops.window import Window
from usmp.tir.nodes import nodes_of
from usmp.tir.tensor_intrin import intrinsic_call

PADDED = Window((7, 9), (3, 3), (2, 2), (1, 1), (1, 1), (4, 5))


def kernel_of(kind, window, core="cortex-m55"):
    func = operator((1, *window.data, 20), pool(kind, window))
    return mve_pool_kernel(OperatorCall(func, (None,)), CORES[core])


@pytest.mark.parametrize(
    ("kind", "function", "lanes"),
    [("max_pool", "tvmgen_mve_max_pool", 16), ("average_pool", "tvmgen_mve_average_pool", 8)],
)
def test_windows_at_the_border_are_computed_by_the_same_function(kind, function, lanes):
    func = kernel_of(kind, PADDED).func
    assert SCHEDULE_ATTR.of(func).tile == f"1 pixel x {lanes} channels, vectors"
    calls = map(intrinsic_call, nodes_of(func.body, tirx.AttrStmt))
    assert [call.args[0].value for call in calls] == [function, function]


def test_other_pools_stay():
    assert kernel_of("max_pool", PADDED, "cortex-m4") is None
    beside = Window((3, 3), (1, 1), (1, 1), (1, 1), (1, 1), (5, 5))
    assert kernel_of("max_pool", beside) is None
    large = Window((40, 40), (17, 17), (1, 1), (1, 1), (0, 0), (24, 24))
    assert kernel_of("average_pool", large) is None
    assert kernel_of("max_pool", large) is not None


@pytest.mark.parametrize("kind", ["max_pool", "average_pool"])
def test_windows_that_reach_out_of_the_data_at_every_pixel(kind):
    func = kernel_of(kind, Window((3, 2), (5, 4), (1, 1), (1, 1), (2, 1), (3, 2))).func
    assert len(nodes_of(func.body, tirx.AttrStmt)) == 1
