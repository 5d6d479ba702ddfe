"""Tensor intrinsics: loops that the C code generator writes as a call of a small C function.

An AttrStmt holds both: its body is plain TIR, which says what is computed and is all that analyses,
LLVM and interpreters look at; its value is the call, which only C prints, in the place of the body.
So whoever reads the accesses of a PrimFunc reads those of its intrinsics as those of any loop. TVM
calls the two parts of a `TensorIntrin` description and implementation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import tvm_ffi
from tvm import tirx
from tvm.ir import Call, StringImm

from usmp.tir.nodes import sequence

TENSOR_INTRIN_ATTR = "usmp.tensor_intrin"


def tensor_intrin(
    symbol: str, arguments: Sequence[tirx.Expr | int], body: tirx.Stmt | Iterable[tirx.Stmt]
) -> tirx.AttrStmt:
    """Statements that C writes as a call.

    Parameters
    ----------
    symbol
        of the C function, one of `usmp.codegen.c.source_files.C_TENSOR_INTRINSICS`.
    arguments
        integers; an element of a buffer stands for its address, and may be one that the buffer
        does not have, if the function then accesses nothing there.
    body
        loops that compute the same, and access all that the function accesses.
    """
    passed = [tirx.IntImm("int32", a) if isinstance(a, int) else a for a in arguments]
    call = tirx.call_pure_extern("int32", symbol, *passed)
    return tirx.AttrStmt(StringImm(symbol), TENSOR_INTRIN_ATTR, call, sequence(body))


def intrinsic_call(stmt: tirx.AttrStmt) -> Call | None:
    """The call that C writes; None if the statement is another one."""
    return stmt.value if str(stmt.attr_key) == TENSOR_INTRIN_ATTR else None


def without_intrinsics(func: tirx.PrimFunc) -> tirx.PrimFunc:
    """`func` with the loops that its intrinsics are defined by, and without their calls."""

    def body(stmt: tirx.AttrStmt) -> tirx.Stmt:
        return stmt if intrinsic_call(stmt) is None else stmt.body

    return func.with_body(tvm_ffi.structural_map(func.body, (tirx.AttrStmt, body)))
