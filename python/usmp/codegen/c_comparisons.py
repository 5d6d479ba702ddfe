"""Comparisons whose values follow from the types of their operands."""

from __future__ import annotations

from tvm import tirx
from tvm.tirx import IntImm

from usmp.analysis.integer_ranges import type_range
from usmp.analysis.memory.calls import CallResolver
from usmp.codegen.c_types import is_floating
from usmp.codegen.calls import may_have_effects


def comparison_with_limit(expr: tirx.Expr, calls: CallResolver) -> str | None:
    """The value of a comparison with its type's least or greatest value, if that decides it.

    Compilers warn of such comparisons.
    """
    if not isinstance(expr, (tirx.LT, tirx.LE, tirx.GT, tirx.GE)) or may_have_effects(expr, calls):
        return None
    dtype = str(expr.a.ty.dtype)
    if is_floating(dtype):
        return None
    reversed_ = isinstance(expr, (tirx.GT, tirx.GE))
    small, large = (expr.b, expr.a) if reversed_ else (expr.a, expr.b)
    least, greatest = type_range(dtype)
    if isinstance(expr, (tirx.LT, tirx.GT)):
        return "0" if _is_value(small, greatest) or _is_value(large, least) else None
    return "1" if _is_value(small, least) or _is_value(large, greatest) else None


def _is_value(expr: tirx.Expr, value: int) -> bool:
    return isinstance(expr, IntImm) and int(expr) == value
