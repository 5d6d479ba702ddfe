"""SLICE, STRIDED_SLICE, SPLIT, SPLIT_V and UNPACK: parts of a tensor."""

from __future__ import annotations

from collections.abc import Sequence

import tflite
from tvm import relax

from usmp.frontend.tflite.context import Context, converts, reshaped
from usmp.frontend.tflite.file.model import TfliteOperator, TfliteTensor
from usmp.frontend.tflite.options import positive_axis
from usmp.frontend.tflite.shapes.strided_ranges import slice_ranges, strided_ranges
from usmp.ops.emit import shape_of


@converts("SLICE", moves=True)
def convert_slice(context: Context, operator: TfliteOperator) -> None:
    """Append a SLICE. Inputs: data, begin and number of elements on each axis; -1 means all."""
    ranges = slice_ranges(operator)
    context.set_moved(operator, part(context.value(operator.input(0)), ranges))


@converts("STRIDED_SLICE", moves=True)
def convert_strided_slice(context: Context, operator: TfliteOperator) -> None:
    """Append a STRIDED_SLICE. Inputs: data, begin, end, strides, subject to masks (options)."""
    value = context.value(operator.input(0))
    ranges, shape = strided_ranges(operator)
    sliced = part(value, ranges)
    if sliced is not value:
        sliced = context.builder.emit(sliced)
    context.set_moved(operator, reshaped(context, sliced, shape))


@converts("SPLIT", moves=True)
def convert_split(context: Context, operator: TfliteOperator) -> None:
    """Append the equal parts of a tensor. Inputs: axis, data."""
    data, count = operator.input(1), len(operator.outputs)
    axis = _split_axis(operator, data, 0)
    if count == 0 or data.shape[axis] % count:
        raise operator.unsupported(
            f"an axis of {data.shape[axis]} elements cannot be cut into {count} equal parts"
        )
    _cut(context, operator, data, axis, [data.shape[axis] // count] * count)


@converts("SPLIT_V", moves=True)
def convert_split_v(context: Context, operator: TfliteOperator) -> None:
    """Append parts of a tensor. Inputs: data, sizes, axis; a size of -1 is the remaining extent."""
    data = operator.input(0)
    axis = _split_axis(operator, data, 2)
    sizes = [int(size) for size in operator.integers(1).reshape(-1)]
    if sizes.count(-1) == 1:
        rest = data.shape[axis] - sum(size for size in sizes if size >= 0)
        sizes = [rest if size == -1 else size for size in sizes]
    fits = sum(sizes) == data.shape[axis] and all(size >= 0 for size in sizes)
    if not fits or len(sizes) != len(operator.outputs):
        raise operator.unsupported(
            f"an axis of {data.shape[axis]} elements cannot be cut into "
            f"{len(operator.outputs)} parts of sizes {sizes}"
        )
    _cut(context, operator, data, axis, sizes)


@converts("UNPACK", moves=True)
def convert_unpack(context: Context, operator: TfliteOperator) -> None:
    """Append the slices of one element along an axis, without this axis."""
    options = operator.options(tflite.UnpackOptions)
    data = operator.input(0)
    axis = positive_axis(operator, options.Axis(), len(data.shape))
    if data.shape[axis] != len(operator.outputs):
        raise operator.unsupported(
            f"an axis of {data.shape[axis]} elements for {len(operator.outputs)} outputs"
        )
    if options.Num() != len(operator.outputs):
        raise operator.unsupported(
            f"{len(operator.outputs)} outputs; its options say {options.Num()}"
        )
    shape = (*data.shape[:axis], *data.shape[axis + 1 :])
    value = context.value(data)
    for index, output in enumerate(operator.outputs):
        row = context.builder.emit(part_along(value, axis, index, index + 1))
        context.set_moved(operator, reshaped(context, row, shape), output)


def part(value: relax.Expr, ranges: Sequence[range]) -> relax.Expr:
    """Return the elements of `value` in a range of each axis, or `value` if these are all."""
    extents = shape_of(value)
    cut = [
        axis
        for axis, (extent, wanted) in enumerate(zip(extents, ranges, strict=True))
        if wanted != range(extent)
    ]
    if not cut:
        return value
    return relax.op.strided_slice(
        value,
        cut,
        [ranges[axis].start for axis in cut],
        # A negative end counts from the axis's end; this one is before the first element.
        [ranges[axis].stop if ranges[axis].stop >= 0 else -extents[axis] - 1 for axis in cut],
        [ranges[axis].step for axis in cut],
    )


def part_along(value: relax.Expr, axis: int, begin: int, end: int) -> relax.Expr:
    """Return the elements of `value` in a range of one axis, or `value` if these are all."""
    ranges = [range(extent) for extent in shape_of(value)]
    ranges[axis] = range(begin, end)
    return part(value, ranges)


def _cut(
    context: Context,
    operator: TfliteOperator,
    data: TfliteTensor,
    axis: int,
    sizes: Sequence[int],
) -> None:
    """Append each output as a slice of its own, so that its reader can read `data` in place."""
    value = context.value(data)
    begin = 0
    for output, size in zip(operator.outputs, sizes, strict=True):
        context.set_moved(operator, part_along(value, axis, begin, begin + size), output)
        begin += size


def _split_axis(operator: TfliteOperator, data: TfliteTensor, index: int) -> int:
    axes = operator.integers(index)
    if axes.size != 1:
        raise operator.unsupported(f"an axis of shape {list(axes.shape)}")
    return positive_axis(operator, int(axes.reshape(-1)[0]), len(data.shape))
