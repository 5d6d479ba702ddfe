"""Estimates of the instructions that convolutions take, by their tiles."""

from __future__ import annotations

from collections.abc import Sequence

from usmp.ops.kernels.costs import Costs
from usmp.ops.kernels.images.conv2d import row_tiles
from usmp.ops.kernels.images.convolution import SINGLE_CHANNELS, Convolution
from usmp.ops.kernels.images.depthwise import Depthwise
from usmp.ops.kernels.loops.index_ranges import inner_range
from usmp.ops.kernels.loops.loops import tile_counts


def convolution_instructions(
    conv: Convolution, pixels: int, channels: Sequence[int], costs: Costs
) -> int:
    """Estimate the instructions of the loops that `convolution` returns on a core with `costs`."""
    window = conv.window
    rows, inner = inner_range(window, 0), row_tiles(window, pixels).inner
    tiles = conv.batch * (rows.end - rows.first) * max(inner.end - inner.first, 0)
    singles = conv.batch * window.output[0] * window.output[1] - tiles * pixels
    return tiles * _tile(conv, pixels, channels, costs) + singles * _tile(
        conv, 1, SINGLE_CHANNELS, costs
    )


def depthwise_instructions(depthwise: Depthwise, costs: Costs) -> int:
    """Estimate the instructions of `Depthwise.loops`, as if it had no padding."""
    batch, channels = int(depthwise.data.shape[0]), int(depthwise.data.shape[3])
    pixels = batch * depthwise.window.output[0] * depthwise.window.output[1]
    taps = depthwise.window.kernel[0] * depthwise.window.kernel[1]
    return int(pixels * (costs.pixel + channels * (taps * costs.depthwise + costs.output)))


def _tile(conv: Convolution, pixels: int, channels: Sequence[int], costs: Costs) -> int:
    """Estimate the instructions of all channels of a tile of pixels, as if it had no padding."""
    height, width = conv.window.kernel
    joined = conv.window.dilations[1] == 1
    runs, length = (height, width * conv.channels) if joined else (height * width, conv.channels)
    sums = sum(
        count * (costs.pixel + costs.sums((pixels, size), runs, length))
        for size, count in tile_counts(conv.outputs, channels)
    )
    return int(sums + pixels * conv.outputs * costs.output)
