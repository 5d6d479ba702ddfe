"""What a convolution with constant weights reads, and how its sums begin and end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tvm import tirx

from usmp.ops.dot_products import Run
from usmp.ops.kernels.loops.accumulators import Accumulators
from usmp.ops.window import Window

TILES: tuple[tuple[int, Sequence[int]], ...] = ((2, (2, 1)), (1, (6, 4, 2, 1)))
"""Numbers of pixels, and of channels."""

SINGLE_CHANNELS = (4, 2, 1)
"""Of tiles of one pixel at the border."""


@dataclass(frozen=True)
class Convolution:
    """A convolution to NHWC data with constant weights.

    Parameters
    ----------
    data
        (batch, height, width, channels) of int8, or (batch, channels, height, width).
    weight
        (output channels * kernel height * kernel width * channels) of int8.
    window
        how the kernel moves.
    outputs
        number of output channels.
    accumulators
        how they begin and end.
    reads_planes
        whether the channels of the data are its second axis.
    """

    data: tirx.Var
    weight: tirx.Var
    window: Window
    outputs: int
    accumulators: Accumulators
    reads_planes: bool = False

    @property
    def batch(self) -> int:
        """Extent of the data."""
        return int(self.data.shape[0])

    @property
    def channels(self) -> int:
        """Extent of the data."""
        return int(self.data.shape[1 if self.reads_planes else 3])

    @property
    def taps(self) -> int:
        """Elements of the weight of an output channel."""
        return self.window.kernel[0] * self.window.kernel[1] * self.channels

    def weight_from(self, c: tirx.Expr, ky: tirx.Expr, kx: tirx.Expr) -> Run:
        """The weights of output channels from `c` on, each from a tap on."""
        height, width = self.window.kernel
        return Run(self.weight, (((c * height + ky) * width + kx) * self.channels,), self.taps)
