"""Kernels of depthwise convolutions with one output channel for each data channel."""

from __future__ import annotations

from tvm import tirx

from usmp.objects.schedule import Schedule
from usmp.objects.target.cores import PORTABLE, Core
from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.costs import costs_of
from usmp.ops.kernels.images.convolution_call import convolution_call
from usmp.ops.kernels.images.convolution_costs import depthwise_instructions
from usmp.ops.kernels.images.depthwise import CHANNELS, Depthwise, packed
from usmp.ops.kernels.kernel import Kernel, TiledBody, kernel
from usmp.ops.kernels.loops.loops import tile_text


def depthwise_kernel(call: OperatorCall, core: Core) -> Kernel | None:
    """Return the kernel of a depthwise convolution; None for unsupported operators."""
    conv_op = convolution_call(call)
    if conv_op is None or not conv_op.groups.are_single_channels:
        return None
    operator, window, by_channel = conv_op.operator, conv_op.groups.window, conv_op.weight
    if by_channel.size == 1:
        # Leave a single weight to `conv2d_kernel`, whose tiles have several pixels.
        return None
    channels = conv_op.groups.number
    values = packed(by_channel)
    weight = tirx.decl_buffer(values.shape, "int8", "weight")
    ending = operator.ending_of(by_channel, folds=not core.has_dsp, together=core == PORTABLE)
    depthwise = Depthwise(operator.data, weight, window, ending.accumulators)
    replaced = ending.replaced(weight, values)
    instructions = depthwise_instructions(depthwise, costs_of(core))
    schedule = Schedule(f"1 pixel x {tile_text(channels, (CHANNELS, 1))}", instructions)
    return kernel(call, [TiledBody(depthwise.loops(), schedule)], replaced)
