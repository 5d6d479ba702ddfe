"""Monotonicity of an index in a variable."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum

from tvm import tirx

from usmp.analysis.memory.indices.index_values import element_type, variables_of


class Monotonicity(IntEnum):
    """The change of a value with a variable, for all values of the other variables."""

    CONSTANT = 0
    LINEAR = 1
    """The value is a * variable + b, where a and b do not depend on the variable."""
    MONOTONE = 2
    """The first and the last value of the variable give the extreme values."""
    UNKNOWN = 3


def monotonicity_of(
    expr: tirx.Expr,
    var: tirx.Var,
    bound: Mapping[tirx.Var, tirx.Expr],
    found: dict[tirx.Var, Monotonicity],
) -> Monotonicity:
    """Return the monotonicity of `expr` in `var`; `found` caches results for `bound` variables."""
    if expr.same_as(var):
        return Monotonicity.LINEAR
    if not isinstance(expr, tirx.Var):
        monotonicity = _monotonicity(expr, lambda part: monotonicity_of(part, var, bound, found))
    elif expr not in bound:
        return Monotonicity.CONSTANT
    else:
        if expr not in found:
            found[expr] = monotonicity_of(bound[expr], var, bound, found)
        monotonicity = found[expr]
    if monotonicity is None:
        return Monotonicity.UNKNOWN if var in variables_of(expr, bound) else Monotonicity.CONSTANT
    return (
        monotonicity
        if monotonicity == Monotonicity.CONSTANT or _is_wide(expr)
        else Monotonicity.UNKNOWN
    )


def _monotonicity(
    expr: tirx.Expr, monotonicity: Callable[[tirx.Expr], Monotonicity]
) -> Monotonicity | None:
    """Return the monotonicity of an expression from that of its operands; None for loads, calls and
    other operations without a rule."""
    if isinstance(expr, tirx.IntImm):
        return Monotonicity.CONSTANT
    if isinstance(expr, tirx.Cast | tirx.Broadcast):
        return monotonicity(expr.value)
    if isinstance(expr, tirx.Ramp):
        return (
            monotonicity(expr.base)
            if monotonicity(expr.stride) == Monotonicity.CONSTANT
            else Monotonicity.UNKNOWN
        )
    if not isinstance(expr, tirx.Add | tirx.Sub | tirx.Mul | tirx.FloorDiv | tirx.Div):
        return None
    a, b = monotonicity(expr.a), monotonicity(expr.b)
    if isinstance(expr, tirx.FloorDiv | tirx.Div):
        if b != Monotonicity.CONSTANT:
            return Monotonicity.UNKNOWN
        return max(a, Monotonicity.MONOTONE) if a else a
    if Monotonicity.CONSTANT in (a, b):
        return max(a, b)
    # The sum of a rising and a falling operand is unknown, unless both are linear.
    is_linear = not isinstance(expr, tirx.Mul) and a == b == Monotonicity.LINEAR
    return Monotonicity.LINEAR if is_linear else Monotonicity.UNKNOWN


def _is_wide(expr: tirx.Expr) -> bool:
    """Return whether an overflow is detected where the first and the last value are evaluated.

    A narrow type may wrap unnoticed between the first and the last value."""
    return element_type(str(expr.ty.dtype)) in ("int32", "int64")
