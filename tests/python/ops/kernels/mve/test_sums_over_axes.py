"""Which sums over axes vectors compute."""

from __future__ import annotations

import pytest
from tvm import tirx

from ops.kernels.sums.test_pooling import AFTER, BEFORE, operator
from usmp.objects.schedule import SCHEDULE_ATTR
from usmp.objects.target.cores import CORES
from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.mve.sums_over_axes import mve_sums_over_axes_kernel
from usmp.ops.quantized.reduction import mean, reduce_max, reduce_sum
from usmp.ops.quantized.rescaling.parameters import Quantization
from usmp.tir.nodes import nodes_of
from usmp.tir.tensor_intrin import intrinsic_call

FINER = Quantization("int8", (0.001,), (5,))


def kernel_of(shape, axes, function=mean, after=AFTER, core="cortex-m55"):
    func = operator(shape, lambda builder, x: function(builder, x, axes, BEFORE, after))
    return mve_sums_over_axes_kernel(OperatorCall(func, (None,)), CORES[core])


@pytest.mark.parametrize("function", [mean, reduce_sum])
def test_a_call_computes_all_channels(function):
    func = kernel_of((2, 3, 4, 40), [1, 2], function, Quantization("int8", (3.7,), (5,))).func
    assert SCHEDULE_ATTR.of(func).tile == "16 channels, vectors"
    (call,) = map(intrinsic_call, nodes_of(func.body, tirx.AttrStmt))
    assert call.args[0].value == "tvmgen_mve_sums"
    # Pixels, channels, and minus the zero point of all of them.
    assert [int(value) for value in call.args[3:6]] == [12, 40, 36]


def test_others_stay():
    assert kernel_of((1, 3, 4, 40), [1, 2], core="cortex-m4") is None
    # Four channels are one vector.
    assert kernel_of((1, 3, 4, 4), [1, 2]) is not None
    assert kernel_of((1, 3, 4, 3), [1, 2]) is None
    # Not behind each other, or nothing behind them.
    assert kernel_of((1, 3, 4, 40), [0, 2]) is None
    assert kernel_of((1, 3, 4, 40), [2, 3]) is None
    # A factor of one half and more.
    assert kernel_of((1, 3, 4, 40), [1, 2], after=FINER) is None
    greatest = operator((1, 3, 4, 40), lambda b, x: reduce_max(b, x, [1, 2], BEFORE))
    assert mve_sums_over_axes_kernel(OperatorCall(greatest, (None,)), CORES["cortex-m55"]) is None
