"""TRANSPOSE, and operators that transpose or reverse axes."""

from __future__ import annotations

from collections.abc import Sequence

import tflite
from tvm import relax

from usmp.frontend.tflite.context import Context, converts, reshaped
from usmp.frontend.tflite.converters.movement.slicing import part
from usmp.frontend.tflite.file.model import TfliteOperator
from usmp.frontend.tflite.options import (
    positive_axis,
    require_rank,
    require_shape,
    require_types,
)
from usmp.ops.emit import shape_of


@converts("TRANSPOSE", moves=True)
def convert_transpose(context: Context, operator: TfliteOperator) -> None:
    """Append a TRANSPOSE. Inputs: data, and for each axis of the output the axis of the data."""
    data = operator.input(0)
    order = [int(axis) for axis in operator.integers(1).reshape(-1)]
    if sorted(order) != list(range(len(data.shape))):
        raise operator.unsupported(
            f"{order} is not an order of the axes of data of shape {list(data.shape)}"
        )
    context.set_moved(operator, transposed(context, context.value(data), order))


@converts("REVERSE_V2", moves=True)
def convert_reverse(context: Context, operator: TfliteOperator) -> None:
    """Append a REVERSE_V2. Inputs: data, the axes to reverse."""
    data = operator.input(0)
    ranges = [range(extent) for extent in data.shape]
    for axis in operator.integers(1).reshape(-1).tolist():
        position = positive_axis(operator, int(axis), len(data.shape))
        if data.shape[position] > 1:
            ranges[position] = range(data.shape[position] - 1, -1, -1)
    context.set_moved(operator, part(context.value(data), ranges))


@converts("REVERSE_SEQUENCE", moves=True)
def convert_reverse_sequence(context: Context, operator: TfliteOperator) -> None:
    """Append a REVERSE_SEQUENCE. Inputs: data, the length to reverse in each batch."""
    data, lengths = operator.input(0), operator.input(1)
    chosen, rank = operator.options(tflite.ReverseSequenceOptions), len(data.shape)
    along = positive_axis(operator, chosen.SeqDim(), rank)
    batch = positive_axis(operator, chosen.BatchDim(), rank)
    if along == batch:
        raise operator.unsupported(f"axis {along} is that of the sequences and of the batch")
    require_types(operator, lengths, "lengths", ("int32", "int64"))
    require_shape(operator, lengths, "lengths", (data.shape[batch],))
    values = context.value(data), context.value(lengths)
    context.set_moved(operator, relax.op.reverse_sequence(*values, along, batch))


@converts("SPACE_TO_DEPTH", moves=True)
def convert_space_to_depth(context: Context, operator: TfliteOperator) -> None:
    """Append a SPACE_TO_DEPTH: the elements of a block become channels."""
    data = operator.input(0)
    block = operator.options(tflite.SpaceToDepthOptions).BlockSize()
    require_rank(operator, data, "input", (4,))
    batch, height, width, channels = data.shape
    if block < 1 or height % block or width % block:
        raise operator.unsupported(
            f"an image of {height} x {width} elements in blocks of {block} x {block}"
        )
    rows, columns = height // block, width // block
    parts = (batch, rows, block, columns, block, channels)
    shape = (batch, rows, columns, block * block * channels)
    _rearrange(context, operator, parts, (0, 1, 3, 2, 4, 5), shape)


@converts("DEPTH_TO_SPACE", moves=True)
def convert_depth_to_space(context: Context, operator: TfliteOperator) -> None:
    """Append a DEPTH_TO_SPACE: channels become the elements of a block."""
    data = operator.input(0)
    block = operator.options(tflite.DepthToSpaceOptions).BlockSize()
    require_rank(operator, data, "input", (4,))
    batch, rows, columns, depth = data.shape
    if block < 1 or depth % (block * block):
        raise operator.unsupported(f"{depth} channels for blocks of {block} x {block} elements")
    channels = depth // (block * block)
    parts = (batch, rows, columns, block, block, channels)
    shape = (batch, rows * block, columns * block, channels)
    _rearrange(context, operator, parts, (0, 1, 3, 2, 4, 5), shape)


def _rearrange(
    context: Context,
    operator: TfliteOperator,
    parts: Sequence[int],
    order: Sequence[int],
    shape: Sequence[int],
) -> None:
    """Append the data, reshaped to `parts`, with its axes in `order`, reshaped to `shape`."""
    value = reshaped(context, context.value(operator.input(0)), parts)
    turned = transposed(context, value, order)
    turned = turned if turned is value else context.builder.emit(turned)
    context.set_moved(operator, reshaped(context, turned, shape))


def transposed(context: Context, value: relax.Expr, order: Sequence[int]) -> relax.Expr:
    """Return `value` with its axes in `order`, by a reshape if only axes of one element move."""
    extents = shape_of(value)
    long_axes = [axis for axis in order if extents[axis] != 1]
    if long_axes == sorted(long_axes):
        return reshaped(context, value, [extents[axis] for axis in order])
    return relax.op.permute_dims(value, list(order))
