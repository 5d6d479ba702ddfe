"""Padding with mirrored elements of the data."""

from __future__ import annotations

from collections.abc import Sequence

from tvm import relax, te, tirx

from usmp.ops.emit import call_operator, shape_of
from usmp.ops.quantization import Quantization, stored_as
from usmp.ops.records.movement import MirrorPad


def mirror_pad(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    padding: Sequence[tuple[int, int]],
    repeats_border: bool,
    quantization: Quantization | None = None,
) -> relax.Expr:
    """Pad the data with mirror images of itself.

    Parameters
    ----------
    padding
        elements before and after each axis; at most the elements of the mirror image.
    repeats_border
        whether a mirror image includes the element at the border.
    quantization
        quantization of input and output, for the record.
    """
    extents = shape_of(data)
    shape = [e + before + after for e, (before, after) in zip(extents, padding, strict=True)]
    skipped = 0 if repeats_border else 1

    def source(index: tirx.Var, extent: int, before: int, after: int) -> tirx.Expr:
        position: tirx.Expr = index - before
        folded = position
        if before:
            mirrored = skipped - 1 - position
            folded = tirx.Select(position < 0, mirrored, folded)
        if after:
            mirrored = 2 * extent - 1 - skipped - position
            folded = tirx.Select(position >= extent, mirrored, folded)
        return folded

    def compute(data: te.Tensor) -> te.Tensor:
        def element(*i: tirx.Var) -> tirx.Expr:
            axes = zip(i, extents, padding, strict=True)
            return data[tuple(source(index, extent, *amounts) for index, extent, amounts in axes)]

        return te.compute(shape, element, "output")

    both = (stored_as(data, quantization),)
    record = MirrorPad(both, both, padding=tuple(padding), repeats_border=repeats_border)
    return call_operator(builder, "mirror_pad", compute, [data], record=record)
