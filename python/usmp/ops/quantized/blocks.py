"""Rearrangements between blocks of images and batches (SPACE_TO_BATCH_ND, BATCH_TO_SPACE_ND)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tvm import relax, te, tirx

from usmp.ops.emit import call_operator, shape_of
from usmp.ops.quantization import Quantization, stored_as
from usmp.ops.records.movement import BatchToSpace, SpaceToBatch


def space_to_batch(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    block: Sequence[int],
    padding: Sequence[tuple[int, int]],
    value: int | float,
    quantization: Quantization | None = None,
) -> relax.Expr:
    """Make an image of the batch for each position in a block, from the elements at this position.

    Parameters
    ----------
    data
        (batch, image axes..., other axes...).
    block
        extents of a block on the image axes; padded image axes are multiples of them.
    padding
        elements of `value` before and after each image axis.
    quantization
        quantization of input and output, for the record.
    """
    batch, *extents = shape_of(data)
    dtype = str(data.ty.dtype)
    image = [
        (extent + before + after) // size
        for extent, size, (before, after) in zip(extents, block, padding, strict=False)
    ]
    shape = (batch * prod(block), *image, *extents[len(block) :])

    def compute(data: te.Tensor) -> te.Tensor:
        def element(index: tirx.Var, *i: tirx.Var) -> tirx.Expr:
            rest = tirx.floordiv(index, batch)
            place: list[tirx.Expr] = []
            inside: list[tirx.Expr] = []
            for axis in reversed(range(len(block))):
                before, after = padding[axis]
                position = i[axis] * block[axis] + tirx.floormod(rest, block[axis]) - before
                rest = tirx.floordiv(rest, block[axis])
                inside += [position >= 0] if before else []
                inside += [position < extents[axis]] if after else []
                place.insert(0, position)
            stored = data[(tirx.floormod(index, batch), *place, *i[len(block) :])]
            if not inside:
                return stored
            return tirx.if_then_else(tirx.all(*inside), stored, tirx.const(value, dtype))

        return te.compute(shape, element, "output")

    both = (stored_as(data, quantization),)
    record = SpaceToBatch(both, both, block=tuple(block), padding=tuple(padding), value=value)
    return call_operator(builder, "space_to_batch", compute, [data], record=record)


def batch_to_space(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    block: Sequence[int],
    crops: Sequence[tuple[int, int]],
    quantization: Quantization | None = None,
) -> relax.Expr:
    """Undo `space_to_batch`: interleave the images for the positions in a block.

    Parameters
    ----------
    data
        (batch * elements of a block, image axes..., other axes...).
    crops
        elements that are cut off at both ends of each image axis.
    quantization
        quantization of input and output, for the record.
    """
    batches, *extents = shape_of(data)
    batch = batches // prod(block)
    image = [
        extent * size - before - after
        for extent, size, (before, after) in zip(extents, block, crops, strict=False)
    ]

    def compute(data: te.Tensor) -> te.Tensor:
        def element(index: tirx.Var, *i: tirx.Var) -> tirx.Expr:
            member: tirx.Expr = tirx.IntImm("int32", 0)
            place = []
            for axis, size in enumerate(block):
                position = i[axis] + crops[axis][0]
                member = member * size + tirx.floormod(position, size)
                place.append(tirx.floordiv(position, size))
            return data[(member * batch + index, *place, *i[len(block) :])]

        return te.compute((batch, *image, *extents[len(block) :]), element, "output")

    both = (stored_as(data, quantization),)
    record = BatchToSpace(both, both, block=tuple(block), crops=tuple(crops))
    return call_operator(builder, "batch_to_space", compute, [data], record=record)
