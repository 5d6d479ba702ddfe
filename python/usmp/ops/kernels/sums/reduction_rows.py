"""Reductions of an image row by row, for operators that run interleaved: a kernel that computes one
channel after the other would need all rows at once."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from tvm import tirx
from tvm.ir import Range
from tvm.sym import Analyzer

from usmp.objects.schedule import Schedule
from usmp.objects.target.cores import Core
from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.call.operator_parts import OperatorParts
from usmp.ops.kernels.kernel import TiledBody
from usmp.ops.kernels.loops.loops import loop, loop_by_tiles, nested
from usmp.ops.kernels.sums.reductions import CHANNELS, LEAST, reduced, reduced_element
from usmp.tir.nodes import sequence
from usmp.tir.tensor_intrin import tensor_intrin

_MOST_VECTOR_PIXELS = 256
"""The most pixels whose sum fits 16 bits."""


@dataclass(frozen=True)
class ReducedImage:
    """An operator that reduces all rows and pixels of an image, and keeps its channels.

    Parameters
    ----------
    data
        (rows, pixels of a row, channels) of int8, apart from axes of extent 1.
    axis
        the channel axis of the output.
    """

    parts: OperatorParts
    data: tirx.Var
    rows: int
    pixels: int
    channels: int
    axis: int

    def element(self, row: tirx.Expr, pixel: tirx.Expr, channel: tirx.Expr) -> tirx.Expr:
        """Return an element of the data."""
        index = (row * self.pixels + pixel) * self.channels + channel
        first = [tirx.IntImm("int32", 0) for _ in self.data.shape[1:]]
        element: tirx.Expr = self.data[(*first, index)]
        return element

    def output(self, channel: tirx.Expr) -> list[tirx.Expr]:
        """Return the indices of an output element."""
        indices: list[tirx.Expr] = [tirx.IntImm("int32", 0) for _ in self.parts.output.shape]
        indices[self.axis] = channel
        return indices


def rows_of_reduction(call: OperatorCall, core: Core) -> TiledBody | None:
    """Return a body whose outermost loop is over the rows of the data, with an accumulator for each
    channel; None if the operator does not reduce a whole image."""
    image = _image_of(call)
    if image is None:
        return None
    whole_image, parts = image, image.parts
    acc = tirx.decl_buffer((image.channels,), "int32", "accumulators")
    least = tirx.IntImm("int32", LEAST[parts.reduction])
    is_vector = core.has_mve and parts.reduction is tirx.Add
    row = _vector_row if is_vector and image.pixels <= _MOST_VECTOR_PIXELS else _row

    def store(c: tirx.Expr) -> tirx.Stmt:
        indices = whole_image.output(c)
        return tirx.BufferStore(parts.output, parts.element(acc[c], indices), indices)

    body = [
        tirx.AllocBuffer(acc),
        loop("c", image.channels, lambda c: tirx.BufferStore(acc, least, [c])),
        loop("y", image.rows, lambda y: row(whole_image, y, acc)),
        loop("c", image.channels, store),
    ]
    return TiledBody(sequence(body), Schedule("1 row, an accumulator for each channel"))


def _row(image: ReducedImage, y: tirx.Expr, accumulators: tirx.Var) -> tirx.Stmt:
    """Reduce a row pixel by pixel, four channels at a time, so that no whole row must be live."""
    reduction = image.parts.reduction

    def tile(x: tirx.Expr, c: tirx.Expr, number: int) -> list[tirx.Stmt]:
        acc = tirx.decl_buffer((number,), "int32", "acc", scope="local")
        return [
            tirx.AllocBuffer(acc),
            *(tirx.BufferStore(acc, accumulators[c + n], [n]) for n in range(number)),
            reduced(reduction, lambda k, n: image.element(y, x + k, c + n), image.channels, 1, acc),
            *(tirx.BufferStore(accumulators, acc[n], [c + n]) for n in range(number)),
        ]

    def pixel(x: tirx.Expr) -> tirx.Stmt:
        tiles = (CHANNELS, 1)
        return loop_by_tiles("c", image.channels, tiles, lambda c, number: tile(x, c, number))

    return loop("x", image.pixels, pixel)


def _vector_row(image: ReducedImage, y: tirx.Expr, acc: tirx.Var) -> tirx.Stmt:
    """Add a row to the accumulators of all channels by one call."""
    zero = tirx.IntImm("int32", 0)

    def added(k: tirx.Expr, c: tirx.Expr) -> tirx.Stmt:
        return tirx.BufferStore(acc, acc[c] + image.element(y, k, c).astype("int32"), [c])

    body = nested(added, k=image.pixels, c=image.channels)
    arguments = [image.element(y, zero, zero), acc[0], image.pixels, image.channels]
    return tensor_intrin("tvmgen_mve_add_pixels", arguments, body)


def _image_of(call: OperatorCall) -> ReducedImage | None:
    """Return the image that an operator reduces as a whole; None for unsupported operators."""
    parts = call.parts
    load = None if parts is None else reduced_element(parts)
    if parts is None or load is None:
        return None
    extents = dict(zip(parts.axes, parts.extents, strict=True))
    number = len(parts.indices)
    channel_axes = [axis for axis in parts.axes[:number] if extents[axis] > 1]
    summed = [axis for axis in parts.axes[number:] if extents[axis] > 1]
    analyzer = Analyzer()
    for axis, extent in extents.items():
        analyzer.bind(axis, Range(0, extent))
    read_axes = [
        (analyzer.simplify(index), int(extent))
        for index, extent in zip(load.indices, load.source.shape, strict=True)
        if int(extent) > 1
    ]
    # Require that all elements are read in the order of the data: rows, pixels, channels.
    expected = [*summed, *channel_axes]
    is_image = bool(summed) and len(channel_axes) <= 1 and len(read_axes) == len(expected)
    if not is_image or not all(
        index.same_as(axis) and extent == extents[axis]
        for (index, extent), axis in zip(read_axes, expected, strict=True)
    ):
        return None
    rows, *columns = (extents[axis] for axis in summed)
    channel = next((n for n in range(number) if extents[parts.axes[n]] > 1), 0)
    channels = extents[channel_axes[0]] if channel_axes else 1
    return ReducedImage(parts, load.source, rows, prod(columns), channels, channel)
