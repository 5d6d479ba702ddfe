"""Sums of products of pixels and output channels, as tensor intrinsics."""

from __future__ import annotations

from dataclasses import dataclass

from tvm import tirx

from usmp.tir.nodes import sequence
from usmp.tir.tensor_intrin import tensor_intrin


@dataclass(frozen=True)
class Run:
    """Elements that follow each other, of one or more pixels or channels.

    Parameters
    ----------
    buffer
        int8.
    indices
        of the first element.
    distance
        elements from one pixel or channel to the next.
    """

    buffer: tirx.Var
    indices: tuple[tirx.Expr, ...]
    distance: int

    @property
    def first(self) -> tirx.Expr:
        """The first element."""
        element: tirx.Expr = self.buffer[self.indices]
        return element

    def at(self, number: int, k: tirx.Expr) -> tirx.Expr:
        """The k-th element of a pixel or channel."""
        *outer, last = self.indices
        element: tirx.Expr = self.buffer[(*outer, last + number * self.distance + k)]
        return element


def dot_products(
    data: Run, weight: Run, n: tirx.Expr | int, offset: int, acc: tirx.Var, tile: tuple[int, int]
) -> tirx.Stmt:
    """acc[p, c] += sum of (data[p, k] + offset) * weight[c, k] over k < n.

    Parameters
    ----------
    data
        runs of the pixels p.
    weight
        runs of the channels c.
    acc
        (pixels * channels) of int32.
    tile
        numbers of pixels and channels.
    """
    pixels, channels = tile
    k = tirx.Var("k", "int32")
    updates = []
    for p in range(pixels):
        for c in range(channels):
            left = data.at(p, k).astype("int32")
            if offset:
                left = left + tirx.IntImm("int32", offset)
            index = p * channels + c
            updates.append(_added(acc, index, left * weight.at(c, k).astype("int32")))
    arguments = [data.first, data.distance, weight.first, weight.distance, n, offset, acc[0]]
    return tensor_intrin(f"tvmgen_dot_{pixels}x{channels}", arguments, _loop(k, n, updates))


def weight_sums(
    weight: Run, n: tirx.Expr | int, factor: int, acc: tirx.Var, channels: int
) -> tirx.Stmt:
    """acc[c] += factor * sum of weight[c, k] over k < n."""
    k = tirx.Var("k", "int32")
    updates = [
        _added(acc, c, weight.at(c, k).astype("int32") * tirx.IntImm("int32", factor))
        for c in range(channels)
    ]
    arguments = [weight.first, weight.distance, n, factor, acc[0]]
    return tensor_intrin(f"tvmgen_weights_sum_{channels}", arguments, _loop(k, n, updates))


def _added(acc: tirx.Var, index: int, value: tirx.Expr) -> tirx.Stmt:
    return tirx.BufferStore(acc, acc[index] + value, [index])


def _loop(k: tirx.Var, n: tirx.Expr | int, body: list[tirx.Stmt]) -> tirx.Stmt:
    return tirx.For(k, 0, n, tirx.ForKind.SERIAL, sequence(body))
