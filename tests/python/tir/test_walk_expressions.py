"""Expressions are walked as TVM walks them, before their parts."""

from __future__ import annotations

import pytest
import tvm_ffi
from tvm import tirx
from tvm.ir import Call, PrimType, TensorLoad
from tvm.tirx import op

from usmp.tir.walk_expressions import walk_expressions

A, B, C = (tirx.Var(name, PrimType("int32")) for name in "abc")
X = tirx.decl_buffer((8, 8), "int32", "x")

EXPRESSIONS = {
    "sum": A + B * C - 1,
    "quotients": tirx.floordiv(A, B) + tirx.floormod(B, C),
    "truncated": tirx.truncdiv(A, B) + tirx.truncmod(B, C),
    "bits": ((A << B) >> C) | (A & B) ^ C,
    "comparisons": tirx.And(tirx.Or(A < B, B <= C), tirx.Not(tirx.And(A == C, B != A))),
    "others": tirx.And(A > B, B >= C),
    "larger": tirx.max(A, tirx.min(B, C)),
    "cast": tirx.Cast("int64", A + B),
    "float": tirx.Cast("float32", A) + 1.5,
    "load": X[A + B, C] + X[B, A],
    "nested": X[X[A, B], C],
    "call": op.call_extern("int32", "f", A, B + C),
    "select": tirx.Select(A < B, A, C),
    "let": tirx.Let(A, B + 1, A * C),
    "ramp": tirx.Ramp(A, 1, 4) + tirx.Broadcast(B, 4),
    "if": op.if_then_else(A < B, X[A, 0], C),
}


def walked(walk, roots, skipped=()) -> list:
    """What a walk visits, in order."""
    found = []

    def visit(node):
        found.append(node)
        is_skipped = isinstance(node, (tirx.Var, *skipped))
        return tvm_ffi.WalkResult.SKIP if is_skipped else None

    walk(roots, {kind: visit for kind in (tirx.Var, TensorLoad, Call, tirx.Select)})
    return found


def structural(roots, callbacks):
    for root in roots:
        tvm_ffi.structural_walk(root, [*callbacks.items()], order="pre")


@pytest.mark.parametrize("skipped", [(), (TensorLoad,), (Call,)])
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_nodes_are_visited_in_order(name, skipped):
    roots = [EXPRESSIONS[name], A, EXPRESSIONS["load"]]
    found, expected = (walked(w, roots, skipped) for w in (walk_expressions, structural))
    assert len(found) == len(expected) > 3
    assert all(one.same_as(other) for one, other in zip(found, expected, strict=True))


def test_kinds_without_callback_are_followed():
    found = []

    def visit(var):
        found.append(str(var.name))
        return tvm_ffi.WalkResult.SKIP

    walk_expressions([X[A, op.call_extern("int32", "f", B)]], {tirx.Var: visit})
    assert found == ["x", "a", "b"]
