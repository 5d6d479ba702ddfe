"""Operators of Relax that only move elements, and the axes and parts in their calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import accumulate
from math import prod
from typing import TypeAlias

from tvm import relax, tirx
from tvm.ir import Call, TupleType

from usmp.ops.emit import extents_of, static_shape


class ViewKind(Enum):
    """How an operator that only moves elements moves them."""

    RESHAPE = auto()
    """All elements in their order, in another shape."""
    PERMUTE = auto()
    """All elements, with the axes in another order."""
    SLICE = auto()
    """A range of some axes of the operand."""
    SPLIT = auto()
    """A tuple: each result is a range of one axis of the operand."""
    JOIN = auto()
    """A tuple is the operand: each tensor in it is a range of one axis of the result."""
    GATHER = auto()
    """Elements from anywhere in the operand, some of them more than once."""


VIEWS = {
    "relax.broadcast_to": ViewKind.GATHER,
    "relax.concat": ViewKind.JOIN,
    "relax.expand_dims": ViewKind.RESHAPE,
    "relax.flatten": ViewKind.RESHAPE,
    "relax.flip": ViewKind.GATHER,
    "relax.nn.batch_flatten": ViewKind.RESHAPE,
    "relax.permute_dims": ViewKind.PERMUTE,
    "relax.repeat": ViewKind.GATHER,
    "relax.reshape": ViewKind.RESHAPE,
    "relax.split": ViewKind.SPLIT,
    "relax.squeeze": ViewKind.RESHAPE,
    "relax.strided_slice": ViewKind.SLICE,
    "relax.take": ViewKind.GATHER,
    "relax.tile": ViewKind.GATHER,
}
"""Name of an operator -> its view. `R.stack` is missing, because `NormalizeCopies` rewrites it;
`R.nn.pad` and `R.image.resize2d` are missing, because they also create elements."""


def names_of(*views: ViewKind) -> tuple[str, ...]:
    """Return the names of the operators that are one of these views."""
    return tuple(name for name, view in VIEWS.items() if view in views)


RESHAPES = names_of(ViewKind.RESHAPE)
PARTS = names_of(ViewKind.SLICE, ViewKind.SPLIT, ViewKind.JOIN)
"""Operators that `parts_of` knows."""


@dataclass(frozen=True)
class AxisRange:
    """The elements `first + step * i` of an axis, for each `i` below `count`.

    Parameters
    ----------
    first
        index of the first element, at least 0; arbitrary if the range is empty.
    count
        number of elements, at least 0.
    step
        distance of the indices, not 0; a negative step goes towards the start of the axis.
    """

    first: int
    count: int
    step: int = 1

    @property
    def end(self) -> int:
        """The index after the last one; negative if it is before the axis."""
        return self.first + self.step * self.count


AxisRanges: TypeAlias = "Mapping[int, AxisRange]"
"""Axis -> range of a part of a tensor; other axes are whole."""


def axis_of(call: Call) -> int:
    """Return the axis of an operator, counted from the first one.

    `R.take` and `R.concat` without an axis are on tensors of one axis.
    """
    operand = call.args[0].ty
    tensor = operand.fields[0] if isinstance(operand, TupleType) else operand
    return 0 if call.attrs.axis is None else int(call.attrs.axis) % len(tensor.shape)


def order_of(transposition: Call) -> tuple[int, ...]:
    """Return the axes of the operand of an `R.permute_dims`, in the order of the result."""
    rank = len(transposition.args[0].ty.shape)
    axes = transposition.attrs.axes
    return tuple(int(a) % rank for a in axes) if axes else tuple(range(rank))[::-1]


def merged_axis(before: Sequence[int], axis: int, after: Sequence[int]) -> tuple[int, int] | None:
    """Return the position of an axis after a reshape.

    Parameters
    ----------
    before, after
        the shapes.
    axis
        an axis of `before`.

    Returns
    -------
    tuple[int, int] | None
        The axis of `after` that contains the axis, and the number of repeats of each index there:
        index `i` after the reshape is index `i // repeats % before[axis]` before it. None if the
        axis is spread over several axes.
    """
    outer, inner = prod(before[:axis]), prod(before[axis + 1 :])
    for merged, extent in enumerate(after):
        above, below = prod(after[:merged]), prod(after[merged + 1 :])
        is_merged = outer % above == 0 and inner % below == 0
        if is_merged and extent == (outer // above) * before[axis] * (inner // below):
            return merged, inner // below
    return None


def parts_of(call: Call) -> list[AxisRanges] | None:
    """Return the ranges of the parts of a tensor.

    Parameters
    ----------
    call
        a call of one of `PARTS`. The parts are the results of a slice or split, whose operand is
        the whole, or the operands of a concat, whose result is the whole.

    Returns
    -------
    list[AxisRanges] | None
        None if the limits are known only at runtime.
    """
    if VIEWS[call.op.name] is ViewKind.SLICE:
        part = _slice_of(call)
        return None if part is None else [part]
    axis = axis_of(call)
    parts = call.ty if VIEWS[call.op.name] is ViewKind.SPLIT else call.args[0].ty
    # The result of a split into one part is no tuple.
    extents = [part.shape[axis] for part in getattr(parts, "fields", [parts])]
    if not all(isinstance(extent, tirx.IntImm) for extent in extents):
        return None
    counts = [int(extent) for extent in extents]
    starts = accumulate(counts[:-1], initial=0)
    return [{axis: AxisRange(*limits)} for limits in zip(starts, counts, strict=True)]


def _slice_of(call: Call) -> AxisRanges | None:
    data, *limits = call.args
    if not all(
        isinstance(argument, relax.Tuple)
        and all(isinstance(value, tirx.IntImm) for value in argument.fields)
        for argument in limits
    ):
        return None
    axes, begins, _, *steps = ([int(value) for value in argument.fields] for argument in limits)
    whole, counts = extents_of(data), extents_of(call)
    part = {}
    for axis, begin, step in zip(axes, begins, *(steps or [[1] * len(axes)]), strict=True):
        extent, count = whole[axis], counts[axis]
        if not isinstance(extent, int) or not isinstance(count, int):
            return None
        begin += extent if begin < 0 else 0
        # A negative step may begin beyond the axis; it starts at the last element then.
        part[axis % len(whole)] = AxisRange(min(max(begin, 0), max(extent - 1, 0)), count, step)
    return part


def sliced(tensor: relax.Expr, part: AxisRanges) -> relax.Expr:
    """Return the `R.strided_slice` for a part of a tensor, even if the part is the whole tensor."""
    extents = extents_of(tensor)
    firsts = [of_axis.first for of_axis in part.values()]
    # A negative end counts from the end of the axis; `-extent - 1` is before its first element.
    ends = [o.end if o.end >= 0 else -extents[axis] - 1 for axis, o in part.items()]
    steps = [of_axis.step for of_axis in part.values()]
    return relax.op.strided_slice(tensor, [*part], firsts, ends, steps)


def whole_or_slice(tensor: relax.Expr, part: AxisRanges) -> relax.Expr:
    """Return a part of a tensor: the tensor itself if the part is whole, or else a slice."""
    extents = extents_of(tensor)
    is_whole = all(of_axis == AxisRange(0, extents[axis]) for axis, of_axis in part.items())
    return tensor if is_whole else sliced(tensor, part)


def part_offsets(call: Call) -> list[int] | None:
    """Return the offsets of the parts in the memory of the whole, in elements.

    Parameters
    ----------
    call
        a call of one of `PARTS`; see `parts_of`.

    Returns
    -------
    list[int] | None
        None if a part would have gaps, or is empty, or if an extent is not constant; also for a
        split or concat with a single part along an inner axis.
    """
    view = VIEWS[call.op.name]
    whole = static_shape(call.ty if view is ViewKind.JOIN else call.args[0].ty)
    parts = None if whole is None else parts_of(call)
    if whole is None or parts is None:
        return None
    if view is not ViewKind.SLICE and prod(whole[: axis_of(call)]) != 1:
        return None
    offsets = [offset for part in parts if (offset := _offset(whole, part)) is not None]
    return offsets if len(offsets) == len(parts) else None


def _offset(whole: Sequence[int], part: AxisRanges) -> int | None:
    """Return the offset of a part with one index on the first axes, a range on the next axis, and
    all indices on later axes; None for other parts."""
    shape = [part[axis].count if axis in part else extent for axis, extent in enumerate(whole)]
    cut = next((axis for axis, extent in enumerate(shape) if extent != 1), len(shape))
    # A slice that ends before it begins has negative extents in TVM.
    if min(shape, default=1) < 1 or shape[cut + 1 :] != [*whole[cut + 1 :]]:
        return None
    if any(of_axis.step != 1 and of_axis.count != 1 for of_axis in part.values()):
        return None
    return sum(of_axis.first * prod(whole[axis + 1 :]) for axis, of_axis in part.items())
