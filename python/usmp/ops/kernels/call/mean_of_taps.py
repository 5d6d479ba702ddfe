"""Recognizes outputs that are the mean of the elements of a kernel window."""

from __future__ import annotations

from tvm import tirx
from tvm.ir import TensorLoad

from usmp.ops.kernels.call.operator_parts import OperatorParts


def is_mean(value: tirx.Expr, parts: OperatorParts, count: int | None = None) -> bool:
    """Return whether a value is the accumulator divided by a count, with halves rounded away from
    zero. If `count` is None, the divisor may be any expression."""
    if not isinstance(value, tirx.Div) or not isinstance(value.a, tirx.Select):
        return False
    chosen = value.a
    if not isinstance(chosen.condition, tirx.LT):
        return False
    sides = (chosen.true_value, chosen.false_value)
    has_count = count is None or (
        _is(value.b, count) and all(_is(side.b, count // 2) for side in sides)
    )
    return (
        _is(chosen.condition.a, 0)
        and is_accumulator(chosen.condition.b, parts)
        and isinstance(sides[0], tirx.Add)
        and isinstance(sides[1], tirx.Sub)
        and any(is_accumulator(term, parts) for term in (sides[0].a, sides[0].b))
        and is_accumulator(sides[1].a, parts)
        and has_count
    )


def _is(value: tirx.Expr, number: int) -> bool:
    return isinstance(value, tirx.IntImm) and int(value) == number


def is_accumulator(value: tirx.Expr, parts: OperatorParts) -> bool:
    """Return whether a value is the accumulator itself, or a cast of it."""
    value = value.value if isinstance(value, tirx.Cast) else value
    return isinstance(value, TensorLoad) and value.source.same_as(parts.accumulator)
