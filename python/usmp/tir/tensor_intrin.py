"""Tensor intrinsics: loops that the C code generator replaces by a call of a small C function.

An AttrStmt has the loops as its body, and the call as its value. The body is plain TIR, which
analyses, LLVM and interpreters use; the C code generator prints the call instead. So analyses see
accesses of intrinsics as those of any loop. TVM calls the two parts of a `TensorIntrin` description
and implementation.
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
    """Return statements that C prints as a call.

    Parameters
    ----------
    symbol
        name of the C function, one of `usmp.codegen.c.source_files.tensor_intrinsics`.
    arguments
        integers, or elements of buffers, which are passed by address. An element may be out of
        bounds if the function does not access it.
    body
        loops that compute the result of the function, with all of its accesses.
    """
    passed = [tirx.IntImm("int32", a) if isinstance(a, int) else a for a in arguments]
    call = tirx.call_pure_extern("int32", symbol, *passed)
    return tirx.AttrStmt(StringImm(symbol), TENSOR_INTRIN_ATTR, call, sequence(body))


def intrinsic_call(stmt: tirx.AttrStmt) -> Call | None:
    """Return the call that C prints; None for other statements."""
    return stmt.value if str(stmt.attr_key) == TENSOR_INTRIN_ATTR else None


def without_intrinsics(func: tirx.PrimFunc) -> tirx.PrimFunc:
    """Return `func` with its intrinsics replaced by their bodies."""

    def body(stmt: tirx.AttrStmt) -> tirx.Stmt:
        return stmt if intrinsic_call(stmt) is None else stmt.body

    return func.with_body(tvm_ffi.structural_map(func.body, (tirx.AttrStmt, body)))
