"""Kernels of convolutions with a single group, also depthwise ones of data with one channel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tvm import tirx
from tvm.ir import TensorLoad, Var

from usmp.objects.schedule import Schedule
from usmp.objects.target.cores import PORTABLE, Core
from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.call.operator_parts import OperatorParts
from usmp.ops.kernels.costs import Costs, costs_of
from usmp.ops.kernels.images.conv2d import convolution
from usmp.ops.kernels.images.convolution import TILES, Convolution
from usmp.ops.kernels.images.convolution_call import convolution_call
from usmp.ops.kernels.images.convolution_costs import convolution_instructions
from usmp.ops.kernels.kernel import Kernel, TiledBody, kernel
from usmp.ops.kernels.loops.loops import counted, tile_text
from usmp.ops.window import Window
from usmp.tir.nodes import nodes_of

_MOST_PLANES_BYTES = 256
"""The most bytes of a window of NCHW data, which is copied to the stack."""


def conv2d_kernel(call: OperatorCall, core: Core) -> Kernel | None:
    """Return the kernel of a convolution with a single group; None for unsupported operators."""
    conv_op = convolution_call(call, may_read_planes=True)
    if conv_op is None or conv_op.groups.number != 1:
        return None
    operator, window, outputs = conv_op.operator, conv_op.groups.window, conv_op.groups.outputs
    if conv_op.reads_planes and conv_op.weight.shape[1] > _MOST_PLANES_BYTES:
        return None
    if not conv_op.reads_planes and _is_of_single_pixels(window, operator.parts):
        pixels = window.data[0] * window.data[1]
        window = replace(window, data=(1, pixels), output=(1, pixels))
    weight = conv_op.weight
    ending = operator.ending_of(weight, folds=not core.has_dsp, together=core == PORTABLE)
    flat = tirx.decl_buffer((weight.size,), "int8", "weight")
    conv = Convolution(
        operator.data, flat, window, outputs, ending.accumulators, conv_op.reads_planes
    )
    replaced = ending.replaced(flat, weight.ravel())
    bodies = [_tiled(conv, pixels, channels, costs_of(core)) for pixels, channels in TILES]
    return kernel(call, bodies, replaced)


def _tiled(conv: Convolution, pixels: int, channels: Sequence[int], costs: Costs) -> TiledBody:
    tile = f"{counted(pixels, 'pixel')} x {tile_text(conv.outputs, channels)}"
    schedule = Schedule(tile, convolution_instructions(conv, pixels, channels, costs))
    return TiledBody(convolution(conv, pixels, channels), schedule)


def _is_of_single_pixels(window: Window, parts: OperatorParts) -> bool:
    """Return whether each output pixel reads only the pixel at its position, so that an image may
    be computed as one long row."""
    _, y, x, _ = parts.indices
    extents = [int(extent) for extent in parts.output.shape[1:3]]

    def is_of_its_pixel(load: TensorLoad) -> bool:
        if not {y, x} & set(nodes_of(load, Var)):
            return True
        return (
            len(load.indices) == 4
            and [int(extent) for extent in load.source.shape[1:3]] == extents
            and all(a.same_as(b) for a, b in zip(load.indices[:3], parts.indices, strict=False))
        )

    # Refuse values that depend on the position by other expressions than loads.
    loads = nodes_of(parts.value, TensorLoad)
    places = [v for load in loads for v in nodes_of(load, Var) if v in (y, x)]
    if len(places) != sum(v in (y, x) for v in nodes_of(parts.value, Var)):
        return False
    return window.is_pointwise and all(map(is_of_its_pixel, loads))
