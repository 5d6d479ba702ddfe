"""Whether an index only grows, or only falls, with a variable."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum

from tvm import tirx

from usmp.analysis.memory.index_values import element_type, variables_of


class Monotonicity(IntEnum):
    """How a value changes with a variable, whatever the other variables are."""

    CONSTANT = 0
    LINEAR = 1
    """It is a * variable + b, where the variable is neither in a nor in b."""
    MONOTONE = 2
    """It only grows, or only falls: the first and the last value of the variable give the least
    and the greatest."""
    UNKNOWN = 3


def monotonicity_of(
    expr: tirx.Expr,
    var: tirx.Var,
    bound: Mapping[tirx.Var, tirx.Expr],
    found: dict[tirx.Var, Monotonicity],
) -> Monotonicity:
    """How `expr` changes with `var`; `found` has those of variables in `bound`, each found once."""
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
    """The same, from those of its parts; None if that takes other rules."""
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
    # Two parts that change together could go up and down.
    is_linear = not isinstance(expr, tirx.Mul) and a == b == Monotonicity.LINEAR
    return Monotonicity.LINEAR if is_linear else Monotonicity.UNKNOWN


def _is_wide(expr: tirx.Expr) -> bool:
    """Whether wrapping is always noticed: what leaves a wide type is found where the first and the
    last value are evaluated; a narrow one may wrap between them."""
    return element_type(str(expr.ty.dtype)) in ("int32", "int64")
