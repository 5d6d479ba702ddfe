"""Accumulators of some channels of some pixels: begun, summed up, stored."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tvm import tirx

from usmp.tir.nodes import sequence

Indices: TypeAlias = "tuple[tirx.Expr, ...]"


@dataclass(frozen=True)
class Rescaling:
    """Accumulators that begin with 0, and are rescaled together before they are stored.

    Parameters
    ----------
    tiles
        numbers of pixels and channels that it is for.
    rescale
        of accumulators, the first channel, and a tile: the statement that rescales them.
    store
        of what is rescaled and the index of its output element: the statement that stores the
        latter.
    """

    tiles: Collection[tuple[int, int]]
    rescale: Callable[[tirx.Var, tirx.Expr, tuple[int, int]], tirx.Stmt]
    store: Callable[[tirx.Expr, Indices], tirx.Stmt]


@dataclass(frozen=True)
class Accumulators:
    """How the sums of products of an operator begin and end.

    Parameters
    ----------
    zero_point
        of the data.
    is_folded
        whether the accumulators begin with what the zero point adds over all taps.
    first
        of a channel: the value that its accumulators begin with.
    store
        of an accumulator and the index of its output element: the statement that stores the latter.
    together
        for channels that follow each other; None if there is no other way.
    """

    zero_point: int
    is_folded: bool
    first: Callable[[tirx.Expr], tirx.Expr]
    store: Callable[[tirx.Expr, Indices], tirx.Stmt]
    together: Rescaling | None = None

    @property
    def offset(self) -> int:
        """What is added to each element of the data."""
        return 0 if self.is_folded else -self.zero_point

    @property
    def skips_padding(self) -> bool:
        """Whether taps outside of the data add nothing."""
        return not self.is_folded or not self.zero_point

    def tile(
        self,
        pixels: Sequence[Indices],
        c: tirx.Expr,
        channels: int,
        products: Callable[[tirx.Var], tirx.Stmt],
        guard: Callable[[int, tirx.Stmt], tirx.Stmt] | None = None,
    ) -> list[tirx.Stmt]:
        """What computes some channels of some pixels.

        Parameters
        ----------
        pixels
            the indices of each output, without that of the channel.
        c, channels
            the first channel, and how many.
        products
            adds them to the accumulators: (pixels * channels) of int32.
        guard
            of the number of a pixel and what stores its channels: the same where it exists.
        """
        acc = tirx.decl_buffer((len(pixels) * channels,), "int32", "acc", scope="local")
        tile = (len(pixels), channels)
        together = self.together if self.together and tile in self.together.tiles else None
        zero = tirx.IntImm("int32", 0)
        begun = [
            tirx.BufferStore(acc, zero if together else self.first(c + n), [p * channels + n])
            for p in range(len(pixels))
            for n in range(channels)
        ]
        store = together.store if together else self.store
        stored = [together.rescale(acc, c, tile)] if together else []
        for p, pixel in enumerate(pixels):
            stores = [store(acc[p * channels + n], (*pixel, c + n)) for n in range(channels)]
            stored += stores if guard is None else [guard(p, sequence(stores))]
        return [tirx.AllocBuffer(acc), *begun, products(acc), *stored]
