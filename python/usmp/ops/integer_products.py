"""Products of 8-bit integers minus zero points, which are tensors, summed in 32 bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from tvm import relax, te, tirx

from usmp.ops.emit import call_operator, shape_of
from usmp.ops.quantized.elementwise import broadcast_indices


@dataclass(frozen=True)
class Slide:
    """The movement of a window along the axes of an image.

    Parameters
    ----------
    strides, dilations, padding
        one number for each axis; the padding before the first element.
    output
        extents of the result.
    """

    strides: Sequence[int]
    dilations: Sequence[int]
    padding: Sequence[int]
    output: Sequence[int]


def matmul(
    builder: relax.BlockBuilder,
    left: relax.Expr,
    right: relax.Expr,
    left_zero_point: relax.Expr,
    right_zero_point: relax.Expr,
) -> relax.Expr:
    """Multiply left (..., rows, depth) by right (..., depth, columns); other axes are broadcast.

    Parameters
    ----------
    left, right
        tensors of int8 or uint8 with two axes or more.
    left_zero_point, right_zero_point
        zero points of the same types: (1) each, or (columns) for right.

    Returns
    -------
    relax.Expr
        int32.
    """

    def compute(left: te.Tensor, right: te.Tensor, *points: te.Tensor) -> te.Tensor:
        shapes = [[int(extent) for extent in tensor.shape] for tensor in (left, right)]
        batches = np.broadcast_shapes(shapes[0][:-2], shapes[1][:-2])
        k = te.reduce_axis((0, shapes[0][-1]), "k")

        def product(*indices: tirx.Var) -> tirx.Expr:
            *batch, row, column = indices
            first, second = (
                broadcast_indices(shape[:-2], tuple(batch), batches) for shape in shapes
            )
            x = _less(left(*first, row, k), points[0], row)
            y = _less(right(*second, k, column), points[1], column)
            return te.sum(x * y, k)

        return te.compute((*batches, shapes[0][-2], shapes[1][-1]), product, "output")

    arguments = [left, right, left_zero_point, right_zero_point]
    return call_operator(builder, "matmul_integer", compute, arguments, True)


def convolution(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    weight: relax.Expr,
    data_zero_point: relax.Expr,
    weight_zero_point: relax.Expr,
    slide: Slide,
) -> relax.Expr:
    """Convolve, grouped if the weight has fewer channels than the data; padding adds nothing.

    Parameters
    ----------
    data
        (batch, channels, ...) of int8 or uint8.
    weight
        (output channels, channels / groups, ...) of int8 or uint8.
    data_zero_point, weight_zero_point
        zero points of the same types: (1) each, or (output channels) for the weight.

    Returns
    -------
    relax.Expr
        (batch, output channels, ...) of int32.
    """
    batch, channels, *extents = shape_of(data)
    outputs, depth, *kernel = shape_of(weight)
    per_group = outputs // (channels // depth)

    def compute(data: te.Tensor, weight: te.Tensor, *points: te.Tensor) -> te.Tensor:
        inner = te.reduce_axis((0, depth), "ic")
        taps = [te.reduce_axis((0, extent), "tap") for extent in kernel]

        def product(b: tirx.Var, c: tirx.Var, *at: tirx.Var) -> tirx.Expr:
            moves = zip(at, taps, slide.strides, slide.dilations, slide.padding, strict=True)
            position = [i * stride + tap * step - before for i, tap, stride, step, before in moves]
            channel = inner if depth == channels else c // per_group * depth + inner
            inside = [
                condition
                for place, extent in zip(position, extents, strict=True)
                for condition in (place >= 0, place < extent)
            ]
            value = tirx.if_then_else(
                tirx.all(*inside),
                _less(data(b, channel, *position), points[0], b),
                tirx.IntImm("int32", 0),
            )
            return te.sum(value * _less(weight(c, inner, *taps), points[1], c), [inner, *taps])

        return te.compute((batch, outputs, *slide.output), product, "output")

    arguments = [data, weight, data_zero_point, weight_zero_point]
    return call_operator(builder, "convolution_integer", compute, arguments, True)


def _less(value: tirx.Expr, zero_points: te.Tensor, index: tirx.Expr) -> tirx.Expr:
    """Subtract the zero point from an integer, in 32 bits."""
    at = tirx.IntImm("int32", 0) if int(zero_points.shape[0]) == 1 else index
    return value.astype("int32") - zero_points[at].astype("int32")
