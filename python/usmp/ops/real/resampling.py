"""Resizing of tensors: each output element is a weighted sum of input elements.

The elements and weights depend on sizes alone: they are tables, one for each axis. A front end
computes the positions, in the type of its reference; functions here turn them into taps.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from operator import mul

import numpy as np
from tvm import relax, te, tirx
from tvm.ir import Expr

from usmp.ops.emit import call_operator, dtype_of, shape_of


@dataclass(frozen=True)
class AxisTaps:
    """The elements that each output element reads along an axis.

    Parameters
    ----------
    positions
        [extent of the output, taps], int32; -1 for elements outside, which read a fill value.
    weights
        weights of these elements, of the same shape.
    """

    positions: np.ndarray
    weights: np.ndarray


def nearest_taps(positions: np.ndarray, extent: int) -> AxisTaps:
    """Return one tap for each position, clamped to the axis; positions are rounded already."""
    indices = np.clip(positions, 0, extent - 1).astype(np.int32)[:, None]
    return AxisTaps(indices, np.ones(indices.shape, np.float32))


def linear_taps(positions: np.ndarray, extent: int) -> AxisTaps:
    """Return the two neighbors of each position, clamped to the axis and computed in float32."""
    inside = np.clip(positions, 0, extent - 1).astype(np.float32)
    first = np.floor(inside)
    second = np.minimum(first + 1, extent - 1)
    share = inside - first
    weights = np.stack([np.float32(1) - share, share], 1)
    return AxisTaps(np.stack([first, second], 1).astype(np.int32), weights.astype(np.float32))


def cubic_curve(distance: np.ndarray, coefficient: float) -> np.ndarray:
    """Return the weights of Keys' cubic kernel at distances, in their type; 0 from 2 on.

    Source: Keys, Cubic convolution interpolation for digital image processing, 1981, equation 4.
    """
    x, a = distance, distance.dtype.type(coefficient)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    curve: np.ndarray = np.where(x < 1, near, np.where(x < 2, far, 0))
    return curve


def copy_elements(
    builder: relax.BlockBuilder, data: Expr, taps: Mapping[int, AxisTaps], fill: float = 0.0
) -> Expr:
    """Return a resized tensor whose elements are copies: each has one tap along an axis.

    Parameters
    ----------
    taps
        the taps of each axis that is resized, by number of the axis.
    fill
        value of elements outside of an axis.
    """
    numbers = sorted(taps)
    shape = [len(taps[n].positions) if n in taps else e for n, e in enumerate(shape_of(data))]
    tables = [taps[n].positions[:, 0].copy() for n in numbers]
    extrapolates = any((table < 0).any() for table in tables)

    def compute(data: te.Tensor, *tables: te.Tensor) -> te.Tensor:
        def element(*at: tirx.Var) -> tirx.Expr:
            read = {n: table(at[n]) for n, table in zip(numbers, tables, strict=True)}
            place = [read.get(n, index) for n, index in enumerate(at)]
            if not extrapolates:
                return data(*place)
            is_outside = tirx.any(*(position < 0 for position in read.values()))
            return tirx.if_then_else(is_outside, tirx.const(fill, data.dtype), data(*place))

        return te.compute(shape, element, name="resize")

    return call_operator(builder, "resize", compute, [data, *tables])


def sum_taps(
    builder: relax.BlockBuilder, data: Expr, taps: Mapping[int, AxisTaps], *, jointly: bool
) -> Expr:
    """Return a resized tensor of weighted sums of taps.

    Parameters
    ----------
    taps
        the taps of each axis that is resized. A tap outside of an axis reads its first element.
    jointly
        whether one sum runs over the taps of all axes, as in PyTorch; else axes are summed one
        after the other, the most reduced axis first, as in onnxruntime.
    """
    if jointly:
        return _summed(builder, data, taps)
    for number in sorted(taps, key=lambda n: len(taps[n].positions) / shape_of(data)[n]):
        data = builder.emit(_summed(builder, data, {number: taps[number]}))
    return data


def _summed(builder: relax.BlockBuilder, data: Expr, taps: Mapping[int, AxisTaps]) -> Expr:
    """Return a tensor that is resized by one sum over the taps of all axes."""
    shape = [len(taps[n].positions) if n in taps else e for n, e in enumerate(shape_of(data))]
    tables: list[np.ndarray] = []
    for axis in taps.values():
        tables += [np.maximum(axis.positions, 0), axis.weights.astype(dtype_of(data))]

    def compute(data: te.Tensor, *tables: te.Tensor) -> te.Tensor:
        axes = [te.reduce_axis((0, axis.positions.shape[1]), "tap") for axis in taps.values()]

        def element(*at: tirx.Var) -> tirx.Expr:
            place, weights = list(at), []
            for number, tap, positions, weight in zip(
                taps, axes, tables[::2], tables[1::2], strict=True
            ):
                place[number] = positions(at[number], tap)
                weights.append(weight(at[number], tap))
            return te.sum(data(*place) * functools.reduce(mul, weights), axes)

        return te.compute(shape, element, name="resize")

    return call_operator(builder, "resize", compute, [data, *tables])


def fill_outside(data: Expr, taps: Mapping[int, AxisTaps], fill: float) -> Expr:
    """Return a resized tensor with `fill` in the elements that have a tap outside of the input."""
    inside = np.ones(shape_of(data), bool)
    for number, axis in taps.items():
        view = [1] * inside.ndim
        view[number] = -1
        inside &= (axis.positions >= 0).all(1).reshape(view)
    if inside.all():
        return data
    return relax.op.where(relax.const(inside), data, relax.const(fill, dtype_of(data)))
