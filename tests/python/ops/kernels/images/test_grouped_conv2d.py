"""Convolutions in groups have a kernel unless these are single channels, and the same bytes."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax
from tvm.ir import Call, GenericConst

from support.kernel_models import check_functions_and_loops, check_schedule
from usmp.objects.schedule import SCHEDULE_ATTR, faster_schedules
from usmp.objects.target.cores import CORES
from usmp.ops import quantized
from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.constants.pack_constants import with_packed_constants
from usmp.ops.kernels.images.grouped_conv2d import grouped_conv2d_kernel
from usmp.ops.quantized import (
    Layout,
    OutputLimits,
    Quantization,
    QuantizedMultiplier,
    Rescale,
    Window,
)
from usmp.relax.transform import FuseOperators
from usmp.tir.nodes import nodes_of

QUANTIZATION = Quantization("int8", (0.1,), (0,))
LIMITS = OutputLimits("int8", -128, 127)
WINDOW = Window((4, 5), (3, 3), (1, 1), (1, 1), (1, 1), (4, 5))


DILATED = Window((4, 5), (3, 3), (1, 1), (2, 2), (2, 2), (4, 5))

POINT = Window((4, 5), (1, 1), (1, 1), (1, 1), (0, 0), (4, 5))


def operator(
    channels: int, groups: int, layout: str = "NHWC", window: Window = WINDOW, outputs: int = 8
):
    """A convolution, by default of eight output channels."""
    rescale = Rescale((QuantizedMultiplier(3 << 29, -8),), QUANTIZATION, LIMITS)
    shape = (1, 4, 5, channels) if layout == "NHWC" else (1, channels, 4, 5)
    weight = np.ones((outputs, *window.kernel, channels // groups), np.int8)
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(shape, "int8"))
    ends = (window, QUANTIZATION, rescale, Layout(layout), QUANTIZATION)
    with builder.function("main", [x]):
        with builder.dataflow():
            y = builder.emit_output(
                quantized.conv2d(builder, x, weight, np.ones(outputs, np.int32), *ends)
            )
        builder.emit_func_output(y)
    mod = FuseOperators()(builder.get())
    (call,) = (c for c in nodes_of(mod["main"].body, Call) if c.op.name == "relax.call_tir")
    constants = (a.value.numpy() if isinstance(a, GenericConst) else None for a in call.args[1])
    return with_packed_constants(OperatorCall(mod[call.args[0]], tuple(constants)))


def kernel_of(*arguments):
    return grouped_conv2d_kernel(operator(*arguments), CORES["cortex-m4"])


def test_tiles_of_a_group():
    func = kernel_of(8, 2).func
    tiles = [SCHEDULE_ATTR.of(f).tile for f in (func, *faster_schedules(func))]
    assert tiles == ["1 pixel x 4 channels, 2 groups", "2 pixels x 2 channels, 2 groups"]


@pytest.mark.parametrize(("groups", "layout"), [(1, "NHWC"), (8, "NHWC"), (2, "NCHW")])
def test_one_group_single_channels_and_channels_first_have_none(groups, layout):
    assert kernel_of(8, groups, layout) is None


@pytest.mark.slow
@pytest.mark.models
def test_models():
    cores = "cortex-m3", "cortex-m55"
    check_functions_and_loops(("conv_2d_groups_2", core) for core in cores)
    for core in cores:
        check_schedule("conv_2d_groups_2", core, "2 groups")
