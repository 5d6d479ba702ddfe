"""Nodes of expressions and statements."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tvm_ffi
from tvm import tirx
from tvm.ir import Var


def nodes_of(root: Any, kind: type) -> list[Any]:
    """Return all nodes of one kind in TIR or Relax."""
    nodes: list[Any] = []
    tvm_ffi.structural_walk(root, (kind, nodes.append))
    return nodes


def mentions(root: Any, var: Var) -> bool:
    """Return whether `var` occurs anywhere in TIR or Relax."""
    return any(node.same_as(var) for node in nodes_of(root, Var))


def conjuncts(condition: tirx.Expr) -> list[tirx.Expr]:
    """Return the conditions whose conjunction is `condition`."""
    if isinstance(condition, tirx.And):
        return [*conjuncts(condition.a), *conjuncts(condition.b)]
    return [condition]


def sequence(statements: tirx.Stmt | Iterable[tirx.Stmt]) -> tirx.Stmt:
    """Return statements as one statement; a `SeqStmt` needs at least two."""
    if isinstance(statements, tirx.Stmt):
        return statements
    several = list(statements)
    if not several:
        return tirx.Evaluate(tirx.IntImm("int32", 0))
    return several[0] if len(several) == 1 else tirx.SeqStmt(several)
