"""Loops that C writes as statements, one for each iteration.

In TIR they stay loops: analyses take as long as there are statements. C compilers keep elements of
an array with constant indices in registers, and unroll only some loops by themselves; GCC takes no
notice of `#pragma GCC unroll` in nested loops.
"""

from __future__ import annotations

import tvm_ffi
from tvm import tirx

UNROLL_EXPLICIT = "pragma_unroll_explicit"
"""TVM's name of the attribute."""


def unrolled(loop: tirx.For) -> tirx.AttrStmt:
    """A loop, marked as one to be unrolled."""
    return tirx.AttrStmt(loop.loop_var, UNROLL_EXPLICIT, tirx.IntImm("int32", 1), loop)


def unrolled_iterations(stmt: tirx.AttrStmt) -> list[tirx.Stmt] | None:
    """The bodies of all iterations; None if this marks no loop, or its bounds are not known."""
    loop = stmt.body
    if str(stmt.attr_key) != UNROLL_EXPLICIT or not isinstance(loop, tirx.For):
        return None
    is_known = isinstance(loop.min, tirx.IntImm) and isinstance(loop.extent, tirx.IntImm)
    if not is_known or loop.step is not None:
        return None
    begin, dtype = int(loop.min), str(loop.loop_var.ty.dtype)
    values = range(begin, begin + int(loop.extent))
    return [_with_value(loop, tirx.IntImm(dtype, value)) for value in values]


def without_marks(func: tirx.PrimFunc) -> tirx.PrimFunc:
    """The same function, whose loops are for a compiler to unroll."""

    def loop_of(stmt: tirx.AttrStmt) -> tirx.Stmt:
        return stmt.body if str(stmt.attr_key) == UNROLL_EXPLICIT else stmt

    return func.with_body(tvm_ffi.structural_map(func.body, (tirx.AttrStmt, loop_of)))


def _with_value(loop: tirx.For, value: tirx.IntImm) -> tirx.Stmt:
    def replace(var: tirx.Var) -> tirx.Expr:
        return value if var.same_as(loop.loop_var) else var

    def fold(add: tirx.Add) -> tirx.Expr:
        if isinstance(add.b, tirx.IntImm) and isinstance(add.a, tirx.IntImm):
            return tirx.IntImm(str(add.ty.dtype), int(add.a) + int(add.b))
        return add.a if isinstance(add.b, tirx.IntImm) and int(add.b) == 0 else add

    return tvm_ffi.structural_map(loop.body, [(tirx.Var, replace), (tirx.Add, fold)])
