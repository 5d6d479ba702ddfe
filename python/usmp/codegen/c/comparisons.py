"""Comparisons that are decided by the types of their operands or by other comparisons."""

from __future__ import annotations

from tvm import tirx
from tvm.ir import Var
from tvm.tirx import IntImm

from usmp.analysis.integers.integer_ranges import Range, type_range
from usmp.analysis.memory.calls import CallResolver
from usmp.codegen.c.calls import may_have_effects
from usmp.tir.dtypes import is_float
from usmp.tir.nodes import conjuncts, is_const_int

_MIRRORED: dict[type, type] = {
    tirx.EQ: tirx.EQ,
    tirx.LT: tirx.GT,
    tirx.LE: tirx.GE,
    tirx.GT: tirx.LT,
    tirx.GE: tirx.LE,
}
"""The equivalent comparison after its operands are swapped."""


def comparison_with_limit(expr: tirx.Expr, calls: CallResolver) -> str | None:
    """Return a comparison's value as a C constant if the limits of its type decide it, else None.

    Compilers warn of comparisons that are always true or false.
    """
    if not isinstance(expr, (tirx.LT, tirx.LE, tirx.GT, tirx.GE)) or may_have_effects(expr, calls):
        return None
    dtype = str(expr.a.ty.dtype)
    if is_float(dtype):
        return None
    reversed_ = isinstance(expr, (tirx.GT, tirx.GE))
    small, large = (expr.b, expr.a) if reversed_ else (expr.a, expr.b)
    least, greatest = type_range(dtype)
    if isinstance(expr, (tirx.LT, tirx.GT)):
        return "0" if is_const_int(small, greatest) or is_const_int(large, least) else None
    return "1" if is_const_int(small, least) or is_const_int(large, greatest) else None


def is_contradiction(expr: tirx.And, calls: CallResolver) -> bool:
    """Return whether comparisons with constants leave some variable without a possible value.

    Compilers warn of such conditions, which come from kernel windows that lie entirely in padding.
    """
    if may_have_effects(expr, calls):
        return False
    ranges: dict[Var, Range] = {}
    for conjunct in conjuncts(expr):
        bound = _bound(conjunct)
        if bound is not None:
            variable, (low, high) = bound
            least, greatest = ranges.get(variable, (low, high))
            ranges[variable] = (max(least, low), min(greatest, high))
    return any(low > high for low, high in ranges.values())


def _bound(expr: tirx.Expr) -> tuple[Var, Range] | None:
    """Return the variable that is compared with a constant, and its range where `expr` is true."""
    kind = type(expr)
    if kind not in _MIRRORED:
        return None
    left, right = expr.a, expr.b
    if isinstance(left, IntImm):
        kind, left, right = _MIRRORED[kind], right, left
    if not isinstance(left, Var) or not isinstance(right, IntImm):
        return None
    value, (least, greatest) = int(right), type_range(str(left.ty.dtype))
    return left, {
        tirx.EQ: (value, value),
        tirx.LT: (least, value - 1),
        tirx.LE: (least, value),
        tirx.GT: (value + 1, greatest),
        tirx.GE: (value, greatest),
    }[kind]
