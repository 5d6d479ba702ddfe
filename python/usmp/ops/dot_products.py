"""Sums of products of pixels and output channels, as tensor intrinsics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tvm import tirx

from usmp.tir.nodes import sequence
from usmp.tir.tensor_intrin import tensor_intrin


@dataclass(frozen=True)
class Run:
    """Contiguous elements of each of one or more pixels or channels.

    Parameters
    ----------
    buffer
        the buffer, of int8 or int16.
    indices
        indices of the first element.
    distance
        elements from one pixel or channel to the next.
    """

    buffer: tirx.Var
    indices: tuple[tirx.Expr, ...]
    distance: int

    @property
    def first(self) -> tirx.Expr:
        """The first element of the first pixel or channel."""
        element: tirx.Expr = self.buffer[self.indices]
        return element

    def at(self, number: int, k: tirx.Expr) -> tirx.Expr:
        """Return the k-th element of a pixel or channel."""
        *outer, last = self.indices
        element: tirx.Expr = self.buffer[(*outer, last + number * self.distance + k)]
        return element


def dot_products(
    data: Run, weight: Run, n: tirx.Expr | int, offset: int, acc: tirx.Var, tile: tuple[int, int]
) -> tirx.Stmt:
    """Return acc[p, c] += sum of (data[p, k] + offset) * weight[c, k] over k < n.

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
    arguments = [data.first, data.distance, weight.first, weight.distance, n, offset, acc[0]]
    body = _products(data, weight, n, offset, acc, tile)
    return tensor_intrin(f"tvmgen_dot_{pixels}x{channels}", arguments, body)


def _products(
    data: Run, weight: Run, n: tirx.Expr | int, offset: int, acc: tirx.Var, tile: tuple[int, int]
) -> tirx.Stmt:
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
    return _loop(k, n, updates)


def window_products(
    data: Run,
    row: tuple[int, int],
    weight: Run,
    shape: tuple[int, int],
    offset: int,
    acc: tirx.Var,
    tile: tuple[int, int],
) -> tirx.Stmt:
    """Return acc[p, c] += sum of (data[p, r, k] + offset) * weight[c, r * n + k] over r and k.

    Parameters
    ----------
    data
        the first rows of the windows of the pixels p.
    row
        the axis of the data along which rows follow each other, and their distance on this axis.
    weight
        runs of the channels c.
    shape
        bounds of r and k: rows and n.
    acc
        (pixels * channels) of int32.
    tile
        numbers of pixels and channels.
    """
    rows, n = shape
    if rows == 1:
        return dot_products(data, weight, n, offset, acc, tile)
    axis, distance = row
    r = tirx.Var("r", "int32")
    indices = list(data.indices)
    indices[axis] = indices[axis] + r * distance
    (begin,) = weight.indices
    of_row = Run(weight.buffer, (begin + r * n,), weight.distance)
    products = _products(
        Run(data.buffer, tuple(indices), data.distance), of_row, n, offset, acc, tile
    )
    body = tirx.For(r, 0, rows, tirx.ForKind.SERIAL, products)
    x_row = distance * int(np.prod([int(extent) for extent in data.buffer.shape[axis + 1 :]]))
    arguments = [data.first, data.distance, x_row, weight.first, weight.distance]
    pixels, channels = tile
    symbol = f"tvmgen_window_{pixels}x{channels}"
    return tensor_intrin(symbol, [*arguments, rows, n, offset, acc[0]], body)


def column_products(data: Run, matrix: Run, n: int, offset: int, acc: tirx.Var) -> tirx.Stmt:
    """Return acc[c] += sum of (data[k] + offset) * matrix[k, c] over k < n.

    Parameters
    ----------
    matrix
        the first row of the matrix, from the first summed column on; `distance` is from row to row.
    acc
        (columns) of int32.
    """
    k, c = tirx.Var("k", "int32"), tirx.Var("c", "int32")
    value = data.at(0, k).astype("int32")
    if offset:
        value = value + tirx.IntImm("int32", offset)
    *outer, row, column = matrix.indices
    factor = matrix.buffer[(*outer, row + k, column + c)].astype("int32")
    added = tirx.BufferStore(acc, acc[c] + value * factor, [c])
    columns = int(acc.shape[0])
    arguments = [data.first, matrix.first, matrix.distance, n, offset, acc[0]]
    of_row = tirx.For(c, 0, columns, tirx.ForKind.SERIAL, added)
    return tensor_intrin(f"tvmgen_columns_{columns}", arguments, _loop(k, n, [of_row]))


def weight_sums(
    weight: Run, n: tirx.Expr | int, factor: int, acc: tirx.Var, channels: int
) -> tirx.Stmt:
    """Return acc[c] += factor * sum of weight[c, k] over k < n."""
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
