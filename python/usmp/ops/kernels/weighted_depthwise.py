"""The kernels of `depthwise_conv2d` operators."""

from __future__ import annotations

from tvm import tirx

from usmp.objects.cores import PORTABLE, Core
from usmp.objects.schedule import Schedule
from usmp.ops.kernels.convolution_costs import depthwise_instructions
from usmp.ops.kernels.costs import costs_of
from usmp.ops.kernels.data_window import data_window
from usmp.ops.kernels.depthwise import CHANNELS, Depthwise, packed
from usmp.ops.kernels.kernel import Kernel, TiledBody, kernel
from usmp.ops.kernels.loops import tile_text
from usmp.ops.kernels.operator_call import OperatorCall


def depthwise_kernel(call: OperatorCall, core: Core) -> Kernel | None:
    """A depthwise convolution of NHWC data with as many output channels as input channels."""
    operator = call.weighted
    if operator is None or operator.record.kind != "depthwise_conv2d":
        return None
    height, width, channels = operator.values.shape
    if len(operator.data.shape) != 4 or int(operator.data.shape[3]) != channels:
        return None
    window = data_window(operator, (height, width), operator.parts.axes[3])
    if window is None:
        return None
    by_channel = operator.values.reshape(-1, channels).T
    values = packed(by_channel)
    weight = tirx.decl_buffer(values.shape, "int8", "weight")
    ending = operator.ending_of(by_channel, folds=not core.has_dsp, together=core == PORTABLE)
    depthwise = Depthwise(operator.data, weight, window, ending.accumulators)
    replaced = ending.replaced(weight, values)
    instructions = depthwise_instructions(depthwise, costs_of(core))
    schedule = Schedule(f"1 pixel x {tile_text(channels, (CHANNELS, 1))}", instructions)
    return kernel(call, [TiledBody(depthwise.loops(), schedule)], replaced)
