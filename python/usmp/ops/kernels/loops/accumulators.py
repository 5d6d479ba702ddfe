"""Accumulators of a tile of pixels and channels: initial values, sums, stores."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tvm import tirx

from usmp.tir.nodes import sequence

Indices: TypeAlias = "tuple[tirx.Expr, ...]"


@dataclass(frozen=True)
class Rescaling:
    """Statements that rescale the accumulators of a tile together. These accumulators begin with 0.

    Parameters
    ----------
    tiles
        supported tiles: numbers of pixels and channels.
    rescale
        returns the statement that rescales, from accumulators, first channel and tile.
    store
        returns the statement that stores an output element, from the rescaled accumulator and the
        element's indices.
    """

    tiles: Collection[tuple[int, int]]
    rescale: Callable[[tirx.Var, tirx.Expr, tuple[int, int]], tirx.Stmt]
    store: Callable[[tirx.Expr, Indices], tirx.Stmt]


@dataclass(frozen=True)
class Accumulators:
    """Initial values of an operator's accumulators, and their epilogue.

    Parameters
    ----------
    zero_point
        the zero point of the data.
    is_folded
        whether the zero point's products over all taps are folded into the initial values.
    first
        returns the initial value of a channel's accumulators.
    store
        returns the statement that stores an output element, from its accumulator and its indices.
    together
        how tiles are rescaled together; None if each accumulator is rescaled by itself.
    """

    zero_point: int
    is_folded: bool
    first: Callable[[tirx.Expr], tirx.Expr]
    store: Callable[[tirx.Expr, Indices], tirx.Stmt]
    together: Rescaling | None = None

    @property
    def offset(self) -> int:
        """The constant to add to each element of the data."""
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
        """Return the statements that compute a tile.

        Parameters
        ----------
        pixels
            the indices of each output pixel: without the channel.
        c, channels
            the first channel, and the number of channels.
        products
            returns the statement that adds products to accumulators: (pixels * channels) of int32.
        guard
            puts the stores of the n-th pixel under a condition; None if the output has all pixels.
        """
        acc = tirx.decl_buffer((len(pixels) * channels,), "int32", "acc", scope="local")
        tile = (len(pixels), channels)
        together = self.together if self.together and tile in self.together.tiles else None
        zero = tirx.IntImm("int32", 0)
        initial = [
            tirx.BufferStore(acc, zero if together else self.first(c + n), [p * channels + n])
            for p in range(len(pixels))
            for n in range(channels)
        ]
        store = together.store if together else self.store
        stored = [together.rescale(acc, c, tile)] if together else []
        for p, pixel in enumerate(pixels):
            stores = [store(acc[p * channels + n], (*pixel, c + n)) for n in range(channels)]
            stored += stores if guard is None else [guard(p, sequence(stores))]
        return [tirx.AllocBuffer(acc), *initial, products(acc), *stored]
