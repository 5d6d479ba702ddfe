"""A walk over expressions that is fast for small ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import tvm_ffi
from tvm import tirx
from tvm.ir import Call, StringImm, TensorLoad

ExprCallbacks: TypeAlias = Mapping[type, Callable[[Any], tvm_ffi.WalkResult | None]]
"""Callbacks by type of node, except arithmetic nodes: `walk_expressions` visits their operands."""

_OPERANDS: dict[type, tuple[str, ...]] = {
    **dict.fromkeys(
        (
            *(tirx.Add, tirx.Sub, tirx.Mul, tirx.Div, tirx.Mod, tirx.FloorDiv, tirx.FloorMod),
            *(tirx.Min, tirx.Max, tirx.And, tirx.Or),
            *(tirx.LShift, tirx.RShift, tirx.BitwiseAnd, tirx.BitwiseOr, tirx.BitwiseXor),
            *(tirx.EQ, tirx.NE, tirx.LT, tirx.LE, tirx.GT, tirx.GE),
        ),
        ("b", "a"),
    ),
    tirx.Not: ("a",),
    tirx.Cast: ("value",),
    tirx.IntImm: (),
    tirx.FloatImm: (),
    StringImm: (),
}
"""The operands of arithmetic nodes, the last one first."""


def walk_expressions(roots: Iterable[tirx.Expr], callbacks: ExprCallbacks) -> None:
    """Walk expressions in pre-order, like `tvm_ffi.structural_walk`.

    Operands of arithmetic are visited in Python, because starting a walk in TVM takes longer than
    visiting the few nodes of an index.

    Parameters
    ----------
    callbacks
        callbacks by type; a callback of variables returns `SKIP`, so that types are not walked.
    """
    pending = [*roots][::-1]
    while pending:
        expr = pending.pop()
        kind = type(expr)
        operands = _OPERANDS.get(kind)
        if operands is not None:
            pending += [getattr(expr, name) for name in operands]
        elif kind in (tirx.Var, TensorLoad, Call) and kind in callbacks:
            if callbacks[kind](expr) is not tvm_ffi.WalkResult.SKIP:
                pending += reversed(_parts(expr))
        else:
            tvm_ffi.structural_walk(expr, [*callbacks.items()], order="pre")


def _parts(expr: tirx.Var | TensorLoad | Call) -> list[Any]:
    if isinstance(expr, TensorLoad):
        return [expr.source, *expr.indices]
    if isinstance(expr, Call):
        return [*expr.args, *([] if expr.attrs is None else [expr.attrs]), *expr.ty_args]
    return [expr.ty]
