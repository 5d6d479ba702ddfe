"""The indices that SLICE and STRIDED_SLICE read along each axis."""

from __future__ import annotations

from collections.abc import Sequence

import tflite

from usmp.frontend.tflite.file.model import TfliteOperator


def slices_of(ranges: Sequence[range]) -> tuple[slice, ...]:
    """Return the NumPy slices that read these indices."""
    return tuple(slice(r.start, r.stop if r.stop >= 0 else None, r.step) for r in ranges)


def slice_ranges(operator: TfliteOperator) -> list[range]:
    """Return the indices that a SLICE reads along each axis of the data; a size of -1 means all.

    Raises
    ------
    UnsupportedModelError
        the begins and sizes do not fit the data.
    """
    extents = operator.input(0).shape
    begins, sizes = (operator.integers(i).reshape(-1).tolist() for i in (1, 2))
    if not len(begins) == len(sizes) == len(extents):
        raise operator.unsupported(
            f"{len(begins)} begins and {len(sizes)} sizes for data of shape {list(extents)}"
        )
    ranges = []
    for extent, begin, size in zip(extents, begins, sizes, strict=True):
        end = extent if size == -1 else begin + size
        if not 0 <= begin <= end <= extent:
            raise operator.unsupported(
                f"{size} elements from {begin} on leave an axis of {extent} elements"
            )
        ranges.append(range(begin, end))
    return ranges


def strided_ranges(operator: TfliteOperator) -> tuple[list[range], tuple[int, ...]]:
    """Return the indices that a STRIDED_SLICE reads along each axis, and the result's shape.

    An entry of begin, end and strides belongs to the next axis of the data, unless it has a bit in
    one of two masks: `ellipsis` stands for all axes that have no entry, `new_axis` for an axis of
    one element in the result. An axis with a bit in `shrink_axis` is left out of the result.
    TFLite's interpreter expands the masks in the same way (strided_slice.cc).

    Raises
    ------
    UnsupportedModelError
        the entries do not fit each other or the data.
    """
    options = operator.options(tflite.StridedSliceOptions)
    extents = operator.input(0).shape
    begins, ends, strides = (operator.integers(i).reshape(-1).tolist() for i in (1, 2, 3))
    if not len(begins) == len(ends) == len(strides):
        raise operator.unsupported(
            f"{len(begins)} begins, {len(ends)} ends and {len(strides)} strides"
        )
    ellipsis, new_axis = options.EllipsisMask(), options.NewAxisMask()
    indexed = sum(not (ellipsis | new_axis) >> entry & 1 for entry in range(len(begins)))
    if indexed > len(extents) or ellipsis.bit_count() > 1:
        raise operator.unsupported(
            f"begin, end and strides for {indexed} axes and {ellipsis.bit_count()} ellipses, "
            f"of data of {len(extents)} axes"
        )
    ranges: list[range] = []
    shape: list[int] = []

    def take_whole(count: int) -> None:
        for extent in extents[len(ranges) : len(ranges) + count]:
            ranges.append(range(extent))
            shape.append(extent)

    for entry, (begin, end, stride) in enumerate(zip(begins, ends, strides, strict=True)):
        bit = 1 << entry
        if bit & ellipsis:
            take_whole(len(extents) - indexed)
        elif bit & new_axis:
            shape.append(1)
        else:
            if stride == 0:
                raise operator.unsupported("a stride of 0")
            extent = extents[len(ranges)]
            start = None if bit & options.BeginMask() else begin
            first, last, _ = slice(start, None, stride).indices(extent)
            if bit & options.ShrinkAxisMask():
                if not 0 <= first < extent:
                    raise operator.unsupported(f"index {start} of an axis of {extent} elements")
                ranges.append(range(first, first + 1))
                continue
            if not bit & options.EndMask():
                # With this option, the end counts from the begin.
                end += first if options.Offset() else 0
                _, last, _ = slice(None, end, stride).indices(extent)
            ranges.append(range(first, last, stride) or range(0))
            shape.append(len(ranges[-1]))
    take_whole(len(extents) - len(ranges))
    return ranges, tuple(shape)
