"""Which nodes does an expression or statement have?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tvm_ffi
from tvm import tirx
from tvm.ir import Var


def nodes_of(root: Any, kind: type) -> list[Any]:
    """All nodes of one kind in TIR or Relax."""
    found: list[Any] = []
    tvm_ffi.structural_walk(root, (kind, found.append))
    return found


def mentions(root: Any, var: Var) -> bool:
    """Whether `var` occurs anywhere in TIR or Relax."""
    return any(found.same_as(var) for found in nodes_of(root, Var))


def conjuncts(condition: tirx.Expr) -> list[tirx.Expr]:
    """The conditions that hold together where this one holds."""
    if isinstance(condition, tirx.And):
        return [*conjuncts(condition.a), *conjuncts(condition.b)]
    return [condition]


def sequence(statements: tirx.Stmt | Iterable[tirx.Stmt]) -> tirx.Stmt:
    """One statement after the other; TIR has no sequence of less than two."""
    if isinstance(statements, tirx.Stmt):
        return statements
    several = list(statements)
    if not several:
        return tirx.Evaluate(tirx.IntImm("int32", 0))
    return several[0] if len(several) == 1 else tirx.SeqStmt(several)
