"""TOPK_V2, SCATTER_ND and segments: elements that are sorted, or combined at indices."""

from __future__ import annotations

import numpy as np
from tvm import relax, tirx

from usmp.frontend.tflite.context import Context, converts
from usmp.frontend.tflite.file.model import TfliteOperator, TfliteTensor
from usmp.frontend.tflite.options import (
    require_inside,
    require_rank,
    require_shape,
    require_types,
)
from usmp.ops.real.scatter import (
    REDUCTIONS,
    Combination,
    Coordinates,
    at_positions,
    scattered_to_constant,
    slices_along,
)
from usmp.ops.real.segments import SegmentReduction, reduce_segments
from usmp.ops.real.top_k import top_elements


@converts("TOPK_V2", moves=True)
def convert_top_k(context: Context, operator: TfliteOperator) -> None:
    """Append a TOPK_V2. Inputs: data, the number of elements of each row. NaN comes last, and of
    equal elements the first one comes first."""
    data, number = operator.input(0), operator.input(1)
    types = ("float32", "int8", "uint8", "int16", "int32", "int64")
    require_types(operator, data, "input", types)
    require_types(operator, number, "the number of elements", ("int32", "int16"))
    count = [int(value) for value in operator.constant(1).reshape(-1)]
    depth = data.shape[-1] if data.shape else 0
    if len(operator.outputs) != 2:
        raise operator.unsupported(f"it has {len(operator.outputs)} outputs, not 2")
    places = operator.outputs[1]
    require_types(operator, places, "the indices", ("int32", "int16"))
    if len(count) != 1 or not 1 <= count[0] <= depth or 0 in data.shape:
        raise operator.unsupported(
            f"{count} elements of each row of shape {list(data.shape)} cannot be taken"
        )
    if depth - 1 > np.iinfo(places.dtype).max:
        raise operator.unsupported(
            f'the indices "{places.name}" are {places.dtype}, too small for {depth} elements'
        )
    results = top_elements(
        context.builder,
        context.value(data),
        len(data.shape) - 1,
        count[0],
        largest=True,
        nan="last",
        place_type=places.dtype,
    )
    for tensor, result in zip(operator.outputs, results, strict=True):
        context.set_moved(operator, result, tensor)


@converts("SCATTER_ND", moves=True)
def convert_scatter_nd(context: Context, operator: TfliteOperator) -> None:
    """Append a SCATTER_ND. Inputs: positions; updates, which are added to zeros at the positions;
    the output's shape. The last axis of the positions has an index for each of the output's first
    axes."""
    indices, updates, output = operator.input(0), operator.input(1), operator.output
    types = ("float32", "int8", "uint8", "int32", "int64", "bool")
    require_types(operator, updates, "the updates", types)
    require_types(operator, indices, "indices", ("int32",))
    shape = tuple(int(extent) for extent in operator.integers(2).reshape(-1))
    require_shape(operator, output, "output", shape)
    *outer, axes = indices.shape or (0,)
    if not indices.shape or not 1 <= axes <= len(shape) or 0 in (*shape, *indices.shape):
        raise operator.unsupported(
            f"indices of shape {list(indices.shape)} for an output of shape {list(shape)}"
        )
    require_shape(operator, updates, "the updates", (*outer, *shape[axes:]))
    require_inside(operator, indices, shape, range(axes))

    _add_to_zeros(context, operator, indices, updates, at_positions(indices.shape))


@converts("SEGMENT_SUM", moves=True)
def convert_segment_sum(context: Context, operator: TfliteOperator) -> None:
    """Append a SEGMENT_SUM. Inputs: rows, and for each row the index of the output row that it is
    added to. Indices begin with 0, and each equals the one before or is the next."""
    data, segments, output = operator.input(0), operator.input(1), operator.output
    require_types(operator, data, "input", ("float32", "int32"))
    require_types(operator, segments, "the segments", ("int32",))
    require_rank(operator, segments, "the segments", (1,))
    if not data.shape or 0 in data.shape:
        raise operator.unsupported(f'input "{data.name}" has shape {list(data.shape)}')
    require_shape(operator, segments, "the segments", data.shape[:1])
    numbers = operator.constant(1).astype(np.int64)
    steps = np.diff(numbers, prepend=-1)
    if numbers[0] != 0 or ((steps != 0) & (steps != 1)).any():
        raise operator.unsupported(
            "the segments do not count up from 0, each the same as or one more than that before it"
        )
    require_shape(operator, output, "output", (int(numbers[-1]) + 1, *data.shape[1:]))

    _add_to_zeros(context, operator, segments, data, slices_along(0))


_SEGMENT_REDUCTIONS: dict[str, SegmentReduction] = {
    "UNSORTED_SEGMENT_MAX": "max",
    "UNSORTED_SEGMENT_MIN": "min",
    "UNSORTED_SEGMENT_PROD": "prod",
    "UNSORTED_SEGMENT_SUM": "sum",
}


@converts(*_SEGMENT_REDUCTIONS, quantized=False)
def convert_unsorted_segments(context: Context, operator: TfliteOperator) -> None:
    """Reduce the slices of each segment, and leave out those of negative segments.

    Inputs: data, the segment of each slice over the first axes, and the number of segments.
    """
    data, segments, number = (operator.input(index) for index in range(3))
    require_types(operator, data, "input", ("float32", "int32"))
    require_types(operator, segments, "the segments", ("int32",))
    require_types(operator, number, "the number of segments", ("int32",))
    require_shape(operator, segments, "the segments", data.shape[: len(segments.shape)])
    if number.shape not in ((), (1,)):
        raise operator.unsupported(
            f'the number of segments "{number.name}" has shape {list(number.shape)}; it should be '
            "one number"
        )
    count = int(operator.constant(2).reshape(()))
    if count < 1:
        raise operator.unsupported(f"{count} segments; at least 1 is supported")
    if segments.data is not None and segments.data.max(initial=-1) >= count:
        raise operator.unsupported(
            f"segment {segments.data.max()} is outside of {count} segments; those from 0 to "
            f"{count - 1} are inside, and negative ones are left out"
        )
    value, places = context.value(data), context.value(segments)
    reduction = _SEGMENT_REDUCTIONS[operator.name]
    context.set_moved(operator, reduce_segments(context.builder, value, places, count, reduction))


def _add_to_zeros(
    context: Context,
    operator: TfliteOperator,
    indices: TfliteTensor,
    updates: TfliteTensor,
    coordinates: Coordinates,
) -> None:
    """Set the output to zeros, to which updates are added in their order."""
    output = operator.output
    require_types(operator, output, "output", (updates.dtype,))
    combine: Combination = tirx.Or if output.dtype == "bool" else REDUCTIONS["add"]
    result = relax.TensorType(output.shape, output.dtype)
    tensors = [context.value(indices), context.value(updates)]
    name = operator.name.lower()
    added = scattered_to_constant(
        context.builder, name, tensors, result, coordinates, combine, from_end=False
    )
    context.set_moved(operator, added)
