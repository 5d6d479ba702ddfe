"""Folding of conditions on one variable, for ranges of the variables."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import tvm_ffi
from tvm import tirx
from tvm.ir import Call

from usmp.tir.nodes import nodes_of
from usmp.tir.op_names import is_op

_COMPARISONS: Mapping[type, Callable[[Any, Any], Any]] = {
    tirx.LT: operator.lt,
    tirx.LE: operator.le,
    tirx.GT: operator.gt,
    tirx.GE: operator.ge,
    tirx.EQ: operator.eq,
    tirx.NE: operator.ne,
}
_ARITHMETIC: Mapping[type, Callable[[Any, Any], Any]] = {
    tirx.Add: operator.add,
    tirx.Sub: operator.sub,
    tirx.Mul: operator.mul,
    tirx.FloorDiv: operator.floordiv,
    tirx.FloorMod: operator.mod,
    tirx.Min: np.minimum,
    tirx.Max: np.maximum,
}


def turning_points(expr: tirx.Expr, var: tirx.Var, extent: int) -> list[int]:
    """Return the values of `var` in [1, `extent`) at which a comparison of `var` alone changes."""
    points: set[int] = set()
    for comparison in _comparisons(expr):
        truth = _values(comparison, {var: range(extent)})
        if truth is not None and np.ndim(truth):
            points |= {int(i) + 1 for i in np.flatnonzero(truth[1:] != truth[:-1])}
    return sorted(points)


def decided(expr: tirx.Expr, ranges: Mapping[tirx.Var, range]) -> tirx.Expr:
    """Fold each choice in `expr` whose condition is provably constant over the ranges."""

    def choice(node: Any) -> Any:
        condition, *values = (
            node.args if isinstance(node, Call) else (node.condition, *_branches(node))
        )
        truth = _truth(condition, ranges)
        return node if truth is None else values[0 if truth else 1]

    def call(node: Call) -> Any:
        return choice(node) if is_op(node, "prim.if_then_else") else node

    return tvm_ffi.structural_map(expr, [(Call, call), (tirx.Select, choice)])


def _branches(select: tirx.Select) -> tuple[tirx.Expr, tirx.Expr]:
    return select.true_value, select.false_value


def _comparisons(expr: tirx.Expr) -> Iterable[tirx.Expr]:
    return (comparison for kind in _COMPARISONS for comparison in nodes_of(expr, kind))


def _truth(condition: tirx.Expr, ranges: Mapping[tirx.Var, range]) -> bool | None:
    """Return True if a condition holds for all values in the ranges, False if it holds for none;
    None if it depends on the values, or is not understood."""
    if isinstance(condition, tirx.And | tirx.Or):
        sides = [_truth(side, ranges) for side in (condition.a, condition.b)]
        last = isinstance(condition, tirx.Or)
        if last in sides:
            return last
        return None if None in sides else not last
    if isinstance(condition, tirx.Not):
        inner = _truth(condition.a, ranges)
        return None if inner is None else not inner
    if isinstance(condition, tirx.IntImm):
        return bool(int(condition))
    if type(condition) not in _COMPARISONS:
        return None
    values = _values(condition, ranges)
    if values is None or np.any(values) != np.all(values):
        return None
    return bool(np.all(values))


def _values(expr: tirx.Expr, ranges: Mapping[tirx.Var, range]) -> Any:
    """Return the values of an expression over the range of its variable; None if it has several
    variables, or operations other than integer arithmetic."""
    variables = set(nodes_of(expr, tirx.Var))
    if len(variables) > 1 or not variables <= ranges.keys():
        return None
    if isinstance(expr, tirx.IntImm):
        return int(expr)
    if isinstance(expr, tirx.Var):
        return np.array(ranges[expr], np.int64)
    if isinstance(expr, tirx.Cast) and str(expr.ty.dtype) in ("int32", "int64"):
        return _values(expr.value, ranges)
    compute = _COMPARISONS.get(type(expr)) or _ARITHMETIC.get(type(expr))
    if compute is None:
        return None
    sides = [_values(side, ranges) for side in (expr.a, expr.b)]
    return None if any(side is None for side in sides) else compute(*sides)
