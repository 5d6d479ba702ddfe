"""Estimates of the instructions that kernels take on a core, to compare tiles.

Instructions were counted in the code of gcc 12 -O2 for the tensor intrinsics, for runs of 16 and
more elements. Wait states of slow memory and dual issue are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from usmp.objects.target.cores import Core

Tile = tuple[int, int]
"""Numbers of pixels and channels."""


@dataclass(frozen=True)
class Costs:
    """Numbers of instructions on a core.

    Parameters
    ----------
    product
        for a multiply-accumulate, by the tile in which it is computed.
    depthwise
        for a multiply-accumulate of a depthwise convolution.
    run
        for each run of consecutive elements, in addition to its products.
    output
        for an output element: rescaling and storing it.
    pixel
        for each tile: addresses, and the test whether its window lies in the data.
    """

    product: Mapping[Tile, Fraction]
    depthwise: Fraction
    run: int
    output: int
    pixel: int

    def sums(self, tile: Tile, runs: int, length: int) -> Fraction:
        """Return the instructions of all sums of a tile.

        Parameters
        ----------
        runs, length
            number of runs of consecutive elements in a sum, and elements of a run.
        """
        pixels, channels = tile
        return runs * (self.run + self.product[tile] * pixels * channels * length)


_DSP = Costs(
    {
        (1, 1): Fraction(9, 4),
        (1, 2): Fraction(13, 8),
        (2, 1): Fraction(13, 8),
        (2, 2): Fraction(20, 16),
        (1, 4): Fraction(23, 16),
        (1, 6): Fraction(33, 24),
        (4, 1): Fraction(23, 16),
    },
    depthwise=Fraction(5, 2),
    run=10,
    output=15,
    pixel=16,
)

_SCALAR = Costs(
    {
        (1, 1): Fraction(4),
        (1, 2): Fraction(13, 4),
        (2, 1): Fraction(13, 4),
        (2, 2): Fraction(17, 8),
        (1, 4): Fraction(23, 8),
        (1, 6): Fraction(11, 4),
        (4, 1): Fraction(23, 8),
    },
    depthwise=Fraction(4),
    run=10,
    output=18,
    pixel=16,
)


def costs_of(core: Core) -> Costs:
    """Return the costs of a core; an unknown core has those of a Cortex-M3."""
    return _DSP if core.has_dsp else _SCALAR
