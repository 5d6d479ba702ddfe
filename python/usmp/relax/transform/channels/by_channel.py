"""Operators that compute each output channel from operand channels of equal index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import GenericConst, TensorLoad
from tvm.sym import Analyzer

from usmp.analysis.integers.integer_ranges import is_integer as is_integer_type
from usmp.ops.form import AxisRead, Form, along
from usmp.ops.quantized.rescaling.parameters import integer_limits
from usmp.ops.records.reductions import ReductionOp
from usmp.ops.records.windowed import PoolOp
from usmp.relax.transform.channels.channel_operator import (
    ChannelOperator,
    Known,
    RecordedCall,
    all_alike,
    channels_on,
    identity,
)
from usmp.relax.transform.channels.channel_ranges import ChannelRanges, ranges_of_constant
from usmp.relax.transform.channels.reductions import pool_ends, reduction_ends
from usmp.relax.transform.channels.value_bounds import Ends, elementwise_ends


def by_channel(known: Known, recorded: RecordedCall) -> ChannelOperator | None:
    """Return the channel relations of an operator, or None if it mixes channels or none are known.

    All channels stay if an operand with one element a channel cannot be sliced, or if values depend
    on the channel's index.
    """
    arguments = recorded.arguments
    counts = {number: known[a].count for number, a in enumerate(arguments) if a in known}
    # Operands with fewer channels are broadcast: all output channels read them.
    most = max(counts.values(), default=0)
    axes = {n: known[arguments[n]].axis for n, count in counts.items() if count == most}
    constants = [n for n, argument in enumerate(arguments) if isinstance(argument, GenericConst)]
    form = recorded.form
    if not axes or form is None or recorded.record.describes_extents:
        return None
    access = along(form, axes, constants)
    if access is None or not access.is_parallel:
        return None
    ends = _output_ends(known, recorded, form, access.reads, access.extent)
    low, high = recorded.record.limits.ends
    least, greatest = (np.clip(end, low, high).astype(np.int64) for end in ends or (low, high))
    every = np.ones(access.extent, np.int64)
    output = ChannelRanges(access.axis, least * every, greatest * every)
    relations = {
        number: (axes.get(number, 0), identity(access.extent) if number in axes else None)
        for number in range(len(arguments))
        if number not in constants
    }
    return recorded.operator(relations, output, np.full(access.extent, not access.is_uniform))


def _output_ends(
    known: Known, recorded: RecordedCall, form: Form, reads: Mapping[int, AxisRead], count: int
) -> Ends | None:
    """Return the value range of each output channel, or None if only the type's limits are
    known."""
    record, arguments = recorded.record, recorded.arguments
    if _is_table(recorded, form):
        return _table_ends(known, arguments)
    if not all(is_integer_type(str(argument.ty.dtype)) for argument in arguments):
        return None
    ends = [_ends(known, a, reads.get(number), count) for number, a in enumerate(arguments)]
    if isinstance(record, PoolOp):
        return pool_ends(recorded, record, ends[0])
    if isinstance(record, ReductionOp):
        return reduction_ends(recorded, record, ends[0])
    params = recorded.prim_func.params
    return elementwise_ends(form, dict(zip(params, ends, strict=False)))


def _ends(known: Known, operand: relax.Expr, read: AxisRead | None, count: int) -> Ends:
    """Return the value range of an operand for each output channel."""
    if isinstance(operand, GenericConst):
        values = operand.value.numpy()
        # A constant without channels has one range for all output channels.
        axis, values = (read.axis, values) if read else (0, values.reshape(1, -1))
        ranges = ranges_of_constant(values, axis)
        every = np.ones(count, np.int64)
        return ranges.least * every, ranges.greatest * every
    if read is not None:
        ranges, _ = channels_on(known, operand, read.axis)
    else:
        ranges = all_alike(known, operand, 0, count)
    return ranges.least, ranges.greatest


def _is_table(recorded: RecordedCall, form: Form) -> bool:
    """Return whether an operator looks up 8-bit integers in a table of 256 entries that begins with
    the result for the least integer."""
    if len(form.nests) != 1 or len(recorded.arguments) != 2:
        return False
    data, results = form.func.params[:2]
    loaded, limits = form.nests[0].value, integer_limits(str(data.dtype))
    if not isinstance(loaded, TensorLoad) or not loaded.source.same_as(results):
        return False
    places = [
        Analyzer().simplify(
            tvm_ffi.structural_map(
                loaded.indices[0], (TensorLoad, lambda _, end=end: tirx.const(end, str(data.dtype)))
            )
        )
        for end in limits
    ]
    return [*map(int, recorded.arguments[1].ty.shape)] == [256] and [
        int(place) if isinstance(place, tirx.IntImm) else None for place in places
    ] == [0, 255]


def _table_ends(known: Known, arguments: Sequence[relax.Expr]) -> Ends | None:
    """Return the value range of a table lookup in each channel."""
    operand, results = arguments
    if not isinstance(results, GenericConst) or operand not in known:
        return None
    values, data = results.value.numpy().astype(np.int64), known[operand]
    least, _ = integer_limits(str(operand.ty.dtype))
    spans = [
        values[first - least : last - least + 1]
        for first, last in zip(data.least, data.greatest, strict=True)
    ]
    return np.array([span.min() for span in spans]), np.array([span.max() for span in spans])
