"""Loops that the C code generator unrolls completely.

C compilers keep array elements with constant indices in registers, but unroll only some loops; GCC
ignores `#pragma GCC unroll` in nested loops. In TIR they stay loops, because the time of analyses
grows with the number of statements.
"""

from __future__ import annotations

import tvm_ffi
from tvm import tirx

from usmp.tir.nodes import is_const_int

UNROLL_EXPLICIT = "pragma_unroll_explicit"
"""TVM's attribute of loops that are unrolled completely."""


def unrolled(loop: tirx.For) -> tirx.AttrStmt:
    """Mark a loop to be unrolled."""
    # The loop's variable, TVM's usual node, has no definition there. Equal loops would differ.
    node, value = tirx.IntImm("int32", 0), tirx.IntImm("int32", 1)
    return tirx.AttrStmt(node, UNROLL_EXPLICIT, value, loop)


def unrolled_iterations(stmt: tirx.AttrStmt) -> list[tirx.Stmt] | None:
    """Return the bodies of all iterations; None for other statements, and for loops with a step or
    unknown bounds."""
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
    """Return the function without marks, so that compilers decide which loops to unroll."""

    def loop_of(stmt: tirx.AttrStmt) -> tirx.Stmt:
        return stmt.body if str(stmt.attr_key) == UNROLL_EXPLICIT else stmt

    return func.with_body(tvm_ffi.structural_map(func.body, (tirx.AttrStmt, loop_of)))


def _with_value(loop: tirx.For, value: tirx.IntImm) -> tirx.Stmt:
    def replace(var: tirx.Var) -> tirx.Expr:
        return value if var.same_as(loop.loop_var) else var

    def fold(add: tirx.Add) -> tirx.Expr:
        if isinstance(add.b, tirx.IntImm) and isinstance(add.a, tirx.IntImm):
            return tirx.IntImm(str(add.ty.dtype), int(add.a) + int(add.b))
        return add.a if is_const_int(add.b, 0) else add

    return tvm_ffi.structural_map(loop.body, [(tirx.Var, replace), (tirx.Add, fold)])
