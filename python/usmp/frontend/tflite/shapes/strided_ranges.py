"""Which elements STRIDED_SLICE takes, from begin, end, strides and five masks."""

from __future__ import annotations

from dataclasses import dataclass

import tflite

from usmp.frontend.tflite.file.model import TfliteOperator


@dataclass(frozen=True)
class AxisRange:
    """The indices begin, begin + stride, ... before `end` (after it, with a negative stride).

    `end` is -1 where a negative stride goes down to the first element.
    """

    begin: int
    end: int
    stride: int = 1


def strided_ranges(operator: TfliteOperator) -> tuple[list[AxisRange], tuple[int, ...]]:
    """The range of each axis of the data, and the shape of the result.

    An entry of begin, end and strides belongs to the next axis of the data, unless it has a bit in
    one of two masks: `ellipsis` stands for all axes that the other entries leave, `new_axis` for an
    axis of one element in the result. An axis with a bit in `shrink_axis` is left out of the
    result. TFLite's interpreter expands these in the same way (strided_slice.cc).

    Raises
    ------
    UnsupportedModelError
        entries that do not fit each other or the data.
    """
    options = operator.options(tflite.StridedSliceOptions)
    extents = operator.input(0).shape
    begins, ends, strides = (operator.integers(i).reshape(-1).tolist() for i in (1, 2, 3))
    if not len(begins) == len(ends) == len(strides):
        raise operator.unsupported(
            f"{len(begins)} begins, {len(ends)} ends and {len(strides)} strides"
        )
    ellipsis, new_axis = options.EllipsisMask(), options.NewAxisMask()
    taken = sum(not (ellipsis | new_axis) >> entry & 1 for entry in range(len(begins)))
    if taken > len(extents) or ellipsis.bit_count() > 1:
        raise operator.unsupported(
            f"begin, end and strides for {taken} axes and {ellipsis.bit_count()} ellipses, "
            f"of data of {len(extents)} axes"
        )
    ranges: list[AxisRange] = []
    shape: list[int] = []

    def take_whole(count: int) -> None:
        for extent in extents[len(ranges) : len(ranges) + count]:
            ranges.append(AxisRange(0, extent))
            shape.append(extent)

    for entry, (begin, end, stride) in enumerate(zip(begins, ends, strides, strict=True)):
        bit = 1 << entry
        if bit & ellipsis:
            take_whole(len(extents) - taken)
        elif bit & new_axis:
            shape.append(1)
        else:
            extent = extents[len(ranges)]
            given_begin = None if options.BeginMask() & bit else begin
            given_end = None if options.EndMask() & bit else end
            if bit & options.ShrinkAxisMask():
                ranges.append(_one_element(operator, extent, given_begin, stride))
                continue
            offset = bool(options.Offset())
            ranges.append(_range(operator, extent, given_begin, given_end, stride, offset))
            shape.append(_length(ranges[-1]))
    take_whole(len(extents) - len(ranges))
    return ranges, tuple(shape)


def _one_element(
    operator: TfliteOperator, extent: int, begin: int | None, stride: int
) -> AxisRange:
    first = _begin(operator, extent, begin, stride)
    if not 0 <= first < extent:
        raise operator.unsupported(f"index {begin} of an axis of {extent} elements")
    return AxisRange(first, first + 1)


def _range(
    operator: TfliteOperator,
    extent: int,
    begin: int | None,
    end: int | None,
    stride: int,
    offset: bool,
) -> AxisRange:
    """The range of one axis; None is as far as the stride goes, `offset` counts the end from
    the begin."""
    first = _begin(operator, extent, begin, stride)
    if end is None:
        last = extent if stride > 0 else -1
    else:
        last = _clamped(end + first if offset else end, extent, stride)
    taken = AxisRange(first, last, stride)
    return taken if _length(taken) else AxisRange(0, 0)


def _begin(operator: TfliteOperator, extent: int, begin: int | None, stride: int) -> int:
    if stride == 0:
        raise operator.unsupported("a stride of 0")
    if begin is None:
        return 0 if stride > 0 else extent - 1
    return _clamped(begin, extent, stride)


def _clamped(index: int, extent: int, stride: int) -> int:
    """A bound, counted from the end if it is negative, moved to the axis or just past it."""
    index += extent if index < 0 else 0
    low, high = (0, extent) if stride > 0 else (-1, extent - 1)
    return min(max(index, low), high)


def _length(taken: AxisRange) -> int:
    return max(0, -((taken.begin - taken.end) // taken.stride))
