"""Operators of Relax that move elements: views, transpositions, joins, slices, padding."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import prod

import numpy as np
from tvm import relax
from tvm.ir import Call, GenericConst

from usmp.ops.emit import shape_of
from usmp.relax.transform.channels.channel_operator import (
    ChannelOperator,
    Kept,
    Known,
    Relation,
    Tied,
    channels_on,
    identity,
)
from usmp.relax.transform.channels.channel_ranges import ChannelRanges

VIEWS = (
    "relax.reshape",
    "relax.flatten",
    "relax.nn.batch_flatten",
    "relax.squeeze",
    "relax.expand_dims",
)


def view(known: Known, call: Call) -> ChannelOperator | None:
    """A tensor in another shape, in which the channels are an axis, or part of one."""
    data = known.get(call.args[0])
    if data is None:
        return None
    before, after = shape_of(call.args[0]), shape_of(call)
    found = _merged_axis(before, data.axis, after)
    if found is None:
        return None
    axis, inner = found
    sources = np.arange(after[axis]) // inner % data.count
    output = data.on(axis, sources)
    relation = Tied(sources, np.arange(after[axis]))

    def rebuild(
        builder: relax.BlockBuilder, operands: Sequence[relax.Expr], kept: Kept
    ) -> relax.Expr:
        shape = [*after[:axis], len(kept.output), *after[axis + 1 :]]
        return relax.op.reshape(operands[0], shape)

    return ChannelOperator((call.args[0],), (relation,), output, rebuild)


def _merged_axis(
    before: Sequence[int], channels: int, after: Sequence[int]
) -> tuple[int, int] | None:
    """The axis of a view that has the channels, and how many of its elements a channel has in a
    row; None if the channels are on several axes."""
    outer, inner = prod(before[:channels]), prod(before[channels + 1 :])
    for axis in range(len(after)):
        above, below = prod(after[:axis]), prod(after[axis + 1 :])
        if outer % above == 0 and inner % below == 0:
            in_axis = (outer // above) * before[channels] * (inner // below)
            if after[axis] == in_axis:
                return axis, inner // below
    return None


def permute_dims(known: Known, call: Call) -> ChannelOperator | None:
    """A transposition."""
    data = known.get(call.args[0])
    if data is None:
        return None
    rank = len(shape_of(call))
    axes = call.attrs.axes
    order = [*reversed(range(rank))] if axes is None else [int(axis) % rank for axis in axes]

    def rebuild(
        builder: relax.BlockBuilder, operands: Sequence[relax.Expr], kept: Kept
    ) -> relax.Expr:
        return relax.op.permute_dims(operands[0], order)

    output = data.on(order.index(data.axis))
    return ChannelOperator((call.args[0],), (identity(data.count),), output, rebuild)


def pad(known: Known, call: Call) -> ChannelOperator | None:
    """Padding of other axes than that of the channels."""
    data = known.get(call.args[0])
    attrs = call.attrs
    widths = [int(width) for width in attrs.pad_width]
    if data is None or any(widths[2 * data.axis : 2 * data.axis + 2]) or min(widths) < 0:
        return None
    mode, value = str(attrs.pad_mode), float(attrs.pad_value)
    if mode == "constant" and not value.is_integer():
        return None
    output = data.including(int(value)) if mode == "constant" else data

    def rebuild(
        builder: relax.BlockBuilder, operands: Sequence[relax.Expr], kept: Kept
    ) -> relax.Expr:
        return Call(call.op, [operands[0], *call.args[1:]], attrs, call.ty_args)

    return ChannelOperator((call.args[0],), (identity(data.count),), output, rebuild)


def strided_slice(known: Known, call: Call) -> ChannelOperator | None:
    """A slice of other axes than that of the channels, or a range of channels."""
    data = known.get(call.args[0])
    if data is None or not all(isinstance(argument, relax.Tuple) for argument in call.args[1:]):
        return None
    whole = shape_of(call.args[0])
    axes, begins, ends = ([int(value) for value in call.args[i]] for i in (1, 2, 3))
    steps = [int(v) for v in call.args[4]] if len(call.args) > 4 else [1] * len(axes)
    axes = [axis % len(whole) for axis in axes]
    place = axes.index(data.axis) if data.axis in axes else None
    first = 0
    if place is not None:
        first = begins[place] + (data.count if begins[place] < 0 else 0)
        if steps[place] != 1 or not 0 <= first < data.count:
            return None
    taken = np.arange(shape_of(call)[data.axis])

    def rebuild(
        builder: relax.BlockBuilder, operands: Sequence[relax.Expr], kept: Kept
    ) -> relax.Expr:
        starts, stops = [*begins], [*ends]
        if place is not None:
            starts[place] = int((kept.of(0, data.count) < first).sum())
            stops[place] = starts[place] + len(kept.output)
        inbound = bool(call.attrs.assume_inbound)
        return relax.op.strided_slice(operands[0], axes, starts, stops, steps, inbound)

    relation = Tied(taken + first, taken)
    return ChannelOperator((call.args[0],), (relation,), data.on(data.axis, taken + first), rebuild)


def concat(known: Known, call: Call) -> ChannelOperator | None:
    """Tensors joined along the axis of the channels, or along another one."""
    if not isinstance(call.args[0], relax.Tuple):
        return None
    parts = list(call.args[0].fields)
    found = [known[part] for part in parts if part in known]
    if not found or any(one.axis != found[0].axis for one in found):
        return None
    channels = found[0].axis
    axis = 0 if call.attrs.axis is None else int(call.attrs.axis) % len(shape_of(call))
    ranges = [_ranges(known, part, channels) for part in parts]
    if axis == channels:
        ends = [*accumulate(one.count for one, _ in ranges)]
        starts = [end - one.count for end, (one, _) in zip(ends, ranges, strict=True)]
        least = np.concatenate([one.least for one, _ in ranges])
        greatest = np.concatenate([one.greatest for one, _ in ranges])
    else:
        starts = [0] * len(parts)
        least = np.min([one.least for one, _ in ranges], axis=0)
        greatest = np.max([one.greatest for one, _ in ranges], axis=0)
    relations: list[Relation] = []
    fixed = np.zeros(len(least), bool)
    for start, (one, is_known) in zip(starts, ranges, strict=True):
        span = np.arange(one.count)
        relations.append(Tied(span, start + span) if is_known else None)
        fixed[start : start + one.count] |= not is_known

    def rebuild(
        builder: relax.BlockBuilder, operands: Sequence[relax.Expr], kept: Kept
    ) -> relax.Expr:
        return relax.op.concat(list(operands), axis)

    output = ChannelRanges(channels, least, greatest)
    return ChannelOperator(tuple(parts), tuple(relations), output, rebuild, fixed=fixed)


def _ranges(known: Known, part: relax.Expr, axis: int) -> tuple[ChannelRanges, bool]:
    """The channels of a part, and whether they can be removed: those of a constant cannot."""
    if not isinstance(part, GenericConst):
        return channels_on(known, part, axis)
    values = np.moveaxis(part.value.numpy().astype(np.int64), axis, 0)
    values = values.reshape(len(values), -1)
    return ChannelRanges(axis, values.min(axis=1), values.max(axis=1)), False


MOVEMENTS = {
    **dict.fromkeys(VIEWS, view),
    "relax.permute_dims": permute_dims,
    "relax.nn.pad": pad,
    "relax.strided_slice": strided_slice,
    "relax.concat": concat,
}
"""By the names of the operators."""
