"""Operators that compute each element from one element of each operand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tvm
from tvm import relax
from tvm.ir import GenericConst

from usmp.ops import quantized
from usmp.ops.emit import shape_of
from usmp.ops.quantized.parameters import integer_limits
from usmp.ops.quantized.table import tabulated
from usmp.ops.records import QuantizedOp
from usmp.relax.transform.channels.channel_operator import (
    ChannelOperator,
    Kept,
    Known,
    RecordedCall,
    Relation,
    identity,
    is_integer,
)
from usmp.relax.transform.channels.channel_ranges import ChannelRanges
from usmp.relax.transform.channels.element_ranges import RANGES, Ends

Made = Callable[[relax.BlockBuilder, Any, Sequence["relax.Expr | np.ndarray"]], relax.Expr]

TABLES = (
    *("elu", "exp", "gelu", "hard_swish", "leaky_relu", "log", "logistic", "rescale_to_join"),
    *("rsqrt", "sqrt", "table", "tanh"),
)
"""Functions of one 8-bit tensor, by the 256 results that are the second argument."""

MAKERS: dict[str, Made] = {
    "abs": lambda b, r, x: quantized.abs_(b, x[0], r.inputs[0], r.outputs[0]),
    "add": lambda b, r, x: quantized.add(b, x[0], x[1], _three(r), r.limits),
    "add_n": lambda b, r, x: quantized.add_all(b, x, r.inputs[0], r.outputs[0]),
    "clamp": lambda b, r, x: quantized.clamp(b, x[0], r.limits, r.outputs[0]),
    "maximum": lambda b, r, x: quantized.maximum(b, x[0], x[1], r.outputs[0]),
    "minimum": lambda b, r, x: quantized.minimum(b, x[0], x[1], r.outputs[0]),
    "multiply": lambda b, r, x: quantized.multiply_elements(
        b, x[0], x[1], _three(r), r.limits, r.rounding
    ),
    "prelu": lambda b, r, x: quantized.prelu(b, x[0], x[1], *_three(r)),
    "relu": lambda b, r, x: quantized.relu(
        b, x[0], r.inputs[0], r.outputs[0], r.limits, r.rounding
    ),
    "requantize": lambda b, r, x: quantized.requantize(
        b, x[0], r.inputs[0], r.outputs[0], r.rounding
    ),
    "subtract": lambda b, r, x: quantized.subtract(b, x[0], x[1], _three(r), r.limits),
}
"""How each kind is made from its record and operands."""


def _three(
    record: QuantizedOp,
) -> tuple[quantized.Quantization, quantized.Quantization, quantized.Quantization]:
    left, right = record.inputs
    return left, right, record.outputs[0]


def table(known: Known, recorded: RecordedCall) -> ChannelOperator | None:
    """A function of one 8-bit tensor, by its results."""
    if len(recorded.arguments) != 2:
        return None
    operand, results = recorded.arguments
    data = known.get(operand)
    if data is None or not isinstance(results, GenericConst):
        return None
    values = results.value.numpy()
    least, _ = integer_limits(str(operand.ty.dtype))
    if values.shape != (256,) or str(operand.ty.dtype) not in ("int8", "uint8"):
        return None
    spans = [
        values[first - least : last - least + 1].astype(np.int64)
        for first, last in zip(data.least, data.greatest, strict=True)
    ]
    output = ChannelRanges(
        data.axis,
        np.array([span.min() for span in spans]),
        np.array([span.max() for span in spans]),
    )

    def rebuild(
        builder: relax.BlockBuilder, operands: Sequence[relax.Expr], kept: Kept
    ) -> relax.Expr:
        return tabulated(
            builder, recorded.record, operands[0], lambda value: int(values[value - least])
        )

    ties = (identity(data.count),)
    return ChannelOperator((operand,), ties, output, rebuild, recorded.prim_func)


def elementwise(known: Known, recorded: RecordedCall) -> ChannelOperator | None:
    """A function of elements that are broadcast together."""
    record, arguments = recorded.record, recorded.arguments
    rank = len(shape_of(recorded.call))
    axes = {
        known[operand].axis + rank - len(shape_of(operand))
        for operand in arguments
        if operand in known
    }
    if len(axes) != 1:
        return None
    (axis,) = axes
    count = shape_of(recorded.call)[axis]
    described = [_operand(known, argument, axis - rank, count) for argument in arguments]
    ranges = [ends for ends, _, _ in described]
    low, high = record.limits.ends
    exact = RANGES.get(record.kind)
    found = (np.full(count, low), np.full(count, high)) if exact is None else exact(record, ranges)
    least, greatest = (np.clip(end, low, high).astype(np.int64) for end in found)
    relations = tuple(relation for _, relation, _ in described)

    def rebuild(
        builder: relax.BlockBuilder, operands: Sequence[relax.Expr], kept: Kept
    ) -> relax.Expr:
        given: list[relax.Expr | np.ndarray] = [
            operand.value.numpy() if isinstance(operand, GenericConst) else operand
            for operand in operands
        ]
        for index, argument in enumerate(given):
            if isinstance(argument, np.ndarray) and _has(argument.shape, axis - rank, count):
                given[index] = np.take(argument, kept.output, axis - rank)
        return MAKERS[record.kind](builder, record, given)

    is_fixed = not all(removable for _, _, removable in described)
    return ChannelOperator(
        tuple(arguments),
        relations,
        ChannelRanges(axis, least, greatest),
        rebuild,
        recorded.prim_func,
        np.full(count, is_fixed),
    )


def _operand(
    known: Known, operand: relax.Expr, axis: int, count: int
) -> tuple[Ends, Relation, bool]:
    """What an operand holds in each channel of the output, how its channels go with those, and
    whether any of these can be removed.

    Parameters
    ----------
    axis
        of the channels, counted from the last one: -1 and less.
    count
        how many channels the output has.
    """
    shape = shape_of(operand)
    is_along = _has(shape, axis, count)
    if isinstance(operand, GenericConst):
        values = operand.value.numpy().astype(np.int64)
        if not is_along:
            return _everywhere(int(values.min()), int(values.max()), count), None, True
        rows = np.moveaxis(values, axis, 0).reshape(count, -1)
        return (rows.min(axis=1), rows.max(axis=1)), None, True
    found = known.get(operand) if isinstance(operand, tvm.ir.Var) else None
    if found is not None and is_along and found.axis == axis + len(shape):
        return (found.least, found.greatest), identity(count), True
    if found is not None:
        ends = _everywhere(int(found.least.min()), int(found.greatest.max()), count)
    else:
        ends = _everywhere(*integer_limits(str(operand.ty.dtype)), count)
    return ends, None, not is_along


def _has(shape: Sequence[int], axis: int, count: int) -> bool:
    """Whether a tensor has the axis of the channels, and is not broadcast along it."""
    return len(shape) >= -axis and shape[axis] == count


def _everywhere(least: int, greatest: int, count: int) -> Ends:
    return np.full(count, least, np.int64), np.full(count, greatest, np.int64)


def elementwise_of_integers(known: Known, recorded: RecordedCall) -> ChannelOperator | None:
    """`elementwise`, if all operands and the result are integers."""
    if not all(map(is_integer, [*recorded.arguments, recorded.call])):
        return None
    return elementwise(known, recorded)
