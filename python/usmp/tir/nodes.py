"""Nodes of expressions and statements."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tvm_ffi
from tvm import relax, tirx
from tvm.ir import Var


def nodes_of(root: Any, kind: type) -> list[Any]:
    """Return all nodes of one kind in TIR or Relax."""
    nodes: list[Any] = []
    tvm_ffi.structural_walk(root, (kind, nodes.append))
    return nodes


def mentions(root: Any, var: Var) -> bool:
    """Return whether `var` occurs anywhere in TIR or Relax."""
    return any(node.same_as(var) for node in nodes_of(root, Var))


def bindings_of(body: relax.SeqExpr) -> list[relax.Binding]:
    """Return the bindings of a sequence, in order."""
    return [binding for block in body.blocks[:] for binding in block.bindings[:]]


def variable_bindings(function: relax.Function) -> list[relax.VarBinding]:
    """Return the bindings of a function's variables to values, in order."""
    return [b for b in bindings_of(function.body) if isinstance(b, relax.VarBinding)]


def fields_of(expr: relax.Expr) -> list[relax.Expr]:
    """Return the fields of a tuple, or another expression alone."""
    return list(expr.fields) if isinstance(expr, relax.Tuple) else [expr]


def int32(value: int) -> tirx.IntImm:
    """Return an `int32` constant."""
    return tirx.IntImm("int32", value)


def conjuncts(condition: tirx.Expr) -> list[tirx.Expr]:
    """Return the conditions whose conjunction is `condition`."""
    if isinstance(condition, tirx.And):
        return [*conjuncts(condition.a), *conjuncts(condition.b)]
    return [condition]


def changed_loop(loop: tirx.For, kind: tirx.ForKind, body: tirx.Stmt) -> tirx.For:
    """Return a loop with another kind and body."""
    begin = (loop.loop_var, loop.min, loop.extent, kind, body)
    return tirx.For(*begin, loop.thread_binding, loop.annotations, loop.step, loop.span)


def is_const_int(expr: object, value: int) -> bool:
    """Return whether `expr` is the integer constant `value`."""
    return isinstance(expr, int | tirx.IntImm) and int(expr) == value


def sequence(statements: tirx.Stmt | Iterable[tirx.Stmt]) -> tirx.Stmt:
    """Return statements as one statement; a `SeqStmt` needs at least two."""
    if isinstance(statements, tirx.Stmt):
        return statements
    several = list(statements)
    if not several:
        return tirx.Evaluate(tirx.IntImm("int32", 0))
    return several[0] if len(several) == 1 else tirx.SeqStmt(several)
