"""Reductions of the slices of a tensor by segment; slices of one need not be adjacent."""

from __future__ import annotations

from typing import Literal

from tvm import relax, tirx
from tvm.ir import Expr

from usmp.ops.emit import dtype_of, shape_of
from usmp.ops.real.order import precedes
from usmp.ops.real.scatter import REDUCTIONS, Combination, Position, scattered_to_constant

SegmentReduction = Literal["sum", "prod", "min", "max"]


def reduce_segments(
    builder: relax.BlockBuilder, data: Expr, segments: Expr, count: int, reduction: SegmentReduction
) -> Expr:
    """Append the reduction of each segment of a tensor, and return it.

    The elements of a segment are combined in the order of the data. Integers wrap. A segment
    without elements is 0 if it is a sum, 1 if a product, the lowest finite number of the type if a
    maximum, and the highest if a minimum. Extremes of floats begin with that number, too: a maximum
    of negative infinity is finite. Extremes ignore NaN, and keep the first of two zeros. Source:
    TFLite's kernels of UNSORTED_SEGMENT_MAX, _MIN, _PROD and _SUM.

    Parameters
    ----------
    data
        numbers, perhaps none.
    segments
        [outer axes of data]: the segment of each slice. A slice whose segment is negative, or
        `count` or more, is left out.
    count
        the number of segments, at least 1.

    Returns
    -------
    Expr
        [count, other axes of data].
    """
    dtype, rank = dtype_of(data), len(shape_of(segments))
    result = relax.TensorType((count, *shape_of(data)[rank:]), dtype)

    def coordinates(buffers: list[tirx.Buffer], place: Position) -> list[tirx.Expr]:
        return [buffers[0][tuple(place[:rank])], *place[rank:]]

    return scattered_to_constant(
        builder,
        f"segment_{reduction}",
        [segments, data],
        result,
        coordinates,
        _COMBINATIONS[reduction],
        initial=_identity(dtype, reduction),
        from_end=False,
    )


def _largest(old: tirx.Expr, new: tirx.Expr) -> tirx.Expr:
    return tirx.Select(precedes(new, old, is_largest=True, nan="anywhere"), new, old)


def _smallest(old: tirx.Expr, new: tirx.Expr) -> tirx.Expr:
    return tirx.Select(precedes(new, old, is_largest=False, nan="anywhere"), new, old)


_COMBINATIONS: dict[SegmentReduction, Combination] = {
    "sum": REDUCTIONS["add"],
    "prod": REDUCTIONS["mul"],
    "min": _smallest,
    "max": _largest,
}


def _identity(dtype: str, reduction: SegmentReduction) -> tirx.Expr:
    """Return the initial value of a segment, the result of one without elements."""
    if reduction == "min":
        return tirx.max_value(dtype)
    if reduction == "max":
        return tirx.min_value(dtype)
    return tirx.const(int(reduction == "prod"), dtype)
