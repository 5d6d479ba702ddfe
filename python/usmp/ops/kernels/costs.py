"""About how many instructions kernels take on a core: the costs by which tiles are compared.

Counted in the code that gcc 12 makes of the tensor intrinsics with -O2, for runs of 16 and more
elements; loads of memory that is slow, and what a core does at once, are not in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from usmp.objects.cores import Core

Tile = tuple[int, int]
"""Numbers of pixels and channels."""


@dataclass(frozen=True)
class Costs:
    """Instructions on a core.

    Parameters
    ----------
    product
        by tile: of a multiply-accumulate.
    depthwise
        of a multiply-accumulate of a depthwise convolution.
    run
        of the sums over elements that follow each other, beside the products.
    output
        of an output element: rescaling and storing it.
    pixel
        of a tile beside what is in it: addresses, and whether its window lies in the data.
    """

    product: Mapping[Tile, Fraction]
    depthwise: Fraction
    run: int
    output: int
    pixel: int

    def sums(self, tile: Tile, runs: int, length: int) -> Fraction:
        """Of all sums of a tile.

        Parameters
        ----------
        runs, length
            the sum is that many parts of elements that follow each other.
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
    """The costs of a core; those of a Cortex-M3 for one that is not known."""
    return _DSP if core.has_dsp else _SCALAR
