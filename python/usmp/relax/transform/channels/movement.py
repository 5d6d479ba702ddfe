"""Relax operators that move elements: reshapes, transpositions, concats, slices, padding."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from tvm import relax
from tvm.ir import Call, GenericConst

from usmp.ops.emit import shape_of
from usmp.ops.views import (
    RESHAPES,
    AxisRange,
    axis_of,
    merged_axis,
    order_of,
    parts_of,
    sliced,
)
from usmp.relax.transform.channels.channel_operator import (
    ChannelOperator,
    Kept,
    Known,
    Relation,
    Tied,
    channels_on,
    identity,
)
from usmp.relax.transform.channels.channel_ranges import ChannelRanges, ranges_of_constant


def view(known: Known, call: Call) -> ChannelOperator | None:
    """Return the channel relations of a reshape that keeps the axis of channels or merges it with
    others. Return None for other reshapes, or if channels are unknown."""
    data = known.get(call.args[0])
    if data is None:
        return None
    before, after = shape_of(call.args[0]), shape_of(call)
    merged = merged_axis(before, data.axis, after)
    if merged is None:
        return None
    axis, inner = merged
    sources = np.arange(after[axis]) // inner % data.count
    output = data.on(axis, sources)
    relation = Tied(sources, np.arange(after[axis]))

    def rebuild(
        builder: relax.BlockBuilder, operands: Sequence[relax.Expr], kept: Kept
    ) -> relax.Expr:
        shape = [*after[:axis], len(kept.output), *after[axis + 1 :]]
        return relax.op.reshape(operands[0], shape)

    return ChannelOperator((call.args[0],), (relation,), output, rebuild)


def permute_dims(known: Known, call: Call) -> ChannelOperator | None:
    """Return the channel relations of a transposition, or None if channels are unknown."""
    data = known.get(call.args[0])
    if data is None:
        return None
    order = order_of(call)

    def rebuild(
        builder: relax.BlockBuilder, operands: Sequence[relax.Expr], kept: Kept
    ) -> relax.Expr:
        return relax.op.permute_dims(operands[0], order)

    output = data.on(order.index(data.axis))
    return ChannelOperator((call.args[0],), (identity(data.count),), output, rebuild)


def pad(known: Known, call: Call) -> ChannelOperator | None:
    """Return the channel relations of a pad of other axes than channels, else None."""
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
    """Return the channel relations of a slice whose channels are contiguous, else None."""
    data = known.get(call.args[0])
    parts = parts_of(call)
    if data is None or parts is None:
        return None
    channels = parts[0].get(data.axis, AxisRange(0, data.count))
    if channels.step != 1:
        return None
    output = np.arange(channels.count)
    operand = output + channels.first

    def rebuild(
        builder: relax.BlockBuilder, operands: Sequence[relax.Expr], kept: Kept
    ) -> relax.Expr:
        first = int((kept.of(0, data.count) < channels.first).sum())
        return sliced(operands[0], {**parts[0], data.axis: AxisRange(first, len(kept.output))})

    ranges = data.on(data.axis, operand)
    return ChannelOperator((call.args[0],), (Tied(operand, output),), ranges, rebuild)


def concat(known: Known, call: Call) -> ChannelOperator | None:
    """Return the channel relations of a concat along any axis, or None if channels are unknown or
    on different axes."""
    if not isinstance(call.args[0], relax.Tuple):
        return None
    parts = list(call.args[0].fields)
    known_parts = [known[part] for part in parts if part in known]
    if not known_parts or any(one.axis != known_parts[0].axis for one in known_parts):
        return None
    channels = known_parts[0].axis
    axis = axis_of(call)
    ranges = [_ranges(known, part, channels) for part in parts]
    if axis == channels:
        starts = [*accumulate((one.count for one, _ in ranges[:-1]), initial=0)]
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
    """Return the value ranges of an input of a concat, and whether its channels can be removed.
    Channels of a constant cannot."""
    if not isinstance(part, GenericConst):
        return channels_on(known, part, axis)
    return ranges_of_constant(part.value.numpy(), axis), False


MOVEMENTS = {
    **dict.fromkeys(RESHAPES, view),
    "relax.permute_dims": permute_dims,
    "relax.nn.pad": pad,
    "relax.strided_slice": strided_slice,
    "relax.concat": concat,
}
"""Operator name -> the function that returns its channel relations."""
