"""The inputs of a convolution with constant weights, and its accumulators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tvm import tirx

from usmp.ops.dot_products import Run
from usmp.ops.kernels.loops.accumulators import Accumulators
from usmp.ops.window import Window

TILES: tuple[tuple[int, Sequence[int]], ...] = ((2, (2, 1)), (1, (6, 4, 2, 1)))
"""Alternative tiles: a number of pixels, and numbers of channels (see `loop_by_tiles`)."""

SINGLE_CHANNELS = (4, 2, 1)
"""Numbers of channels of tiles of one pixel at the border."""


@dataclass(frozen=True)
class Convolution:
    """A convolution of images with constant weights.

    Parameters
    ----------
    data
        int8, (batch, height, width, channels); (batch, channels, height, width) if `reads_planes`.
    weight
        (output channels * kernel height * kernel width * channels) of int8.
    window
        the kernel window over the data.
    outputs
        number of output channels.
    accumulators
        initial values and epilogue.
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
        """The number of images."""
        return int(self.data.shape[0])

    @property
    def channels(self) -> int:
        """The number of channels of the data."""
        return int(self.data.shape[1 if self.reads_planes else 3])

    @property
    def taps(self) -> int:
        """The number of weights of an output channel."""
        return self.window.kernel[0] * self.window.kernel[1] * self.channels

    def weight_from(self, c: tirx.Expr, ky: tirx.Expr, kx: tirx.Expr) -> Run:
        """Return the weights of output channels from `c` on, each from the tap (`ky`, `kx`) on."""
        height, width = self.window.kernel
        return Run(self.weight, (((c * height + ky) * width + kx) * self.channels,), self.taps)
