"""The C types of expressions."""

from __future__ import annotations

import tvm_ffi
from tvm import tirx
from tvm.ir import Call, PointerType, Var
from tvm.tirx import FloatImm

from usmp.analysis.memory.access import Access, declared_access
from usmp.codegen.c.types import c_type, memory_type
from usmp.tir.op_names import is_op


def pointer_type(ty: PointerType) -> str:
    """Return the C type of a pointer; `void*` if it has no element type."""
    dtype = str(ty.element_type.dtype)
    return "void*" if dtype in ("", "void") else f"{memory_type(dtype)}*"


def value_type(expr: tirx.Expr) -> str:
    """Return the C type of a value; a buffer is a pointer to its elements."""
    if tirx.is_buffer_var(expr):
        return f"{memory_type(str(expr.ty.dtype))}*"
    if isinstance(expr.ty, PointerType):
        return pointer_type(expr.ty)
    dtype = str(getattr(expr.ty, "dtype", "void"))
    return "void" if dtype in ("", "void") else c_type(dtype)


def passed_type(expr: tirx.Expr) -> str:
    """Return the C type of an argument of a user's function; `const` if the function only reads."""
    if not is_op(expr, "tirx.tvm_access_ptr"):
        return value_type(expr)
    const = "const " if declared_access(expr) == Access.READ else ""
    return f"{const}{c_type(str(expr.ty.element_type.dtype))}*"


def has_float64(func: tirx.PrimFunc) -> bool:
    """Return whether a PrimFunc has values or elements of float64."""
    dtypes: set[str] = set()

    def add(expr: tirx.Expr) -> None:
        ty = expr.ty.element_type if isinstance(expr.ty, PointerType) else expr.ty
        dtypes.add(str(getattr(ty, "dtype", "")))

    tvm_ffi.structural_walk(func, [(kind, add) for kind in (Var, FloatImm, tirx.Cast, Call)])
    return "float64" in dtypes
