"""WidenSmallFloats: compute float16 and bfloat16 in float32, because C has neither type.

Tensors between operators keep their type. Inside of an operator, buffers and intermediate values
are float32, as in onnxruntime, and stored values are rounded to the nearest number of the tensor's
type. Values that an operator only moves are not converted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tvm
import tvm_ffi
from tvm import s_tir, tirx
from tvm.ir import Call, IRModule, Op, PrimType, TensorLoad, Var
from tvm.tirx import Cast, FloatImm

from usmp.analysis.integers.addressed import addressed
from usmp.passes import ModulePass, with_prim_funcs
from usmp.tir.dtypes import dtype_of
from usmp.tir.nodes import nodes_of
from usmp.tir.tensor_intrin import intrinsic_call

_SMALL = ("float16", "bfloat16")
_ARITHMETIC = (tirx.Add, tirx.Sub, tirx.Mul, tirx.Div, tirx.Mod, tirx.Min, tirx.Max)
_COMPARISONS = (tirx.EQ, tirx.NE, tirx.LT, tirx.LE, tirx.GT, tirx.GE)
_AS_THEY_ARE = (
    "tirx.reinterpret",
    "tirx.call_extern",
    "tirx.call_pure_extern",
    "tirx.buffer_data",
    "tirx.tvm_access_ptr",
)
"""Calls that keep their types."""


@tvm.transform.module_pass(opt_level=0, name="usmp.WidenSmallFloats")
class WidenSmallFloats(ModulePass):
    """Widen the computations of PrimFuncs in small floats, with or without blocks, to float32.

    Loaded values are converted, stored values are rounded to the nearest number of their type, and
    variables and buffers without other uses than loads and stores become float32. Parameters and
    arguments of tensor intrinsics keep their types. Values that are only moved are not converted.
    """

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Rewrite the PrimFuncs that have such numbers."""
        return with_prim_funcs(mod, lambda func: _widened(func) if _concerns(func) else func)


def _concerns(func: tirx.PrimFunc) -> bool:
    kinds = (TensorLoad, Cast, FloatImm)
    return any(dtype_of(e) in _SMALL for kind in kinds for e in nodes_of(func.body, kind))


def _widened(func: tirx.PrimFunc) -> tirx.PrimFunc:
    variables = _wide_variables(func.body)
    callbacks: list[tuple[Any, Callable[[Any], Any]]] = [
        (Var, lambda var: variables.get(var, var)),
        (TensorLoad, _load),
        (FloatImm, _wide),
        (_ARITHMETIC, _arithmetic),
        (_COMPARISONS, lambda expr: type(expr)(_wide(expr.a), _wide(expr.b))),
        (tirx.Select, _select),
        (Cast, _conversion),
        (Call, _call),
        (tirx.Let, lambda let: tirx.Let(let.var, _wide(let.value), _wide(let.body))),
        (tirx.Bind, lambda stmt: tirx.Bind(stmt.var, _as_type_of(stmt.var, stmt.value))),
        (tirx.BufferStore, _store),
        (tirx.AttrStmt, _attribute),
    ]
    return func.with_body(tvm_ffi.structural_map(func.body, callbacks))


def _wide_variables(body: tirx.Stmt) -> dict[Var, Var]:
    """Return float32 variables for small ones, and for buffers that are only loaded and stored."""
    blocks = nodes_of(body, s_tir.SBlock)
    buffers = [buffer for block in blocks for buffer in block.alloc_buffers]
    buffers += [stmt.buffer for stmt in nodes_of(body, tirx.AllocBuffer)]
    elsewhere = addressed(body) | _passed(body)
    wide: dict[Var, Var] = {}
    for buffer in buffers:
        if str(buffer.dtype) in _SMALL and buffer not in elsewhere:
            wide[buffer] = tirx.decl_buffer(
                list(buffer.shape), "float32", buffer.name, scope=buffer.scope()
            )
    for declaration in (*nodes_of(body, tirx.Let), *nodes_of(body, tirx.Bind)):
        if _is_small(declaration.var):
            wide[declaration.var] = tirx.Var(declaration.var.name, "float32")
    return wide


def _passed(body: tirx.Stmt) -> set[Var]:
    """Return the buffers in which tensor intrinsics get addresses."""
    calls = map(intrinsic_call, nodes_of(body, tirx.AttrStmt))
    loads = (nodes_of(call, TensorLoad) for call in calls if call is not None)
    return {load.source for of_call in loads for load in of_call}


def _is_small(expr: Any) -> bool:
    return str(getattr(expr.ty, "dtype", "")) in _SMALL


def _wide(expr: tirx.Expr) -> tirx.Expr:
    """Return a number in float32, which represents it exactly."""
    if isinstance(expr, FloatImm) and _is_small(expr):
        return FloatImm("float32", float(expr.value))
    return Cast("float32", expr) if _is_small(expr) else expr


def _rounded(dtype: str, value: tirx.Expr) -> tirx.Expr:
    """Return the nearest number of a small type, or the original value of a widened one."""
    if isinstance(value, Cast) and str(value.value.ty.dtype) == dtype:
        return value.value
    return Cast(dtype, value)


def _as_type_of(var: Var, value: tirx.Expr) -> tirx.Expr:
    return _wide(value) if str(getattr(var.ty, "dtype", "")) == "float32" else value


def _load(load: TensorLoad) -> tirx.Expr:
    # Make a new load, because its type follows from the buffer, which may be float32 now.
    return _wide(tirx.BufferLoad(load.source, list(load.indices))) if _is_small(load) else load


def _arithmetic(expr: Any) -> tirx.Expr:
    return type(expr)(_wide(expr.a), _wide(expr.b)) if _is_small(expr) else expr


def _select(expr: tirx.Select) -> tirx.Expr:
    if not _is_small(expr):
        return expr
    return tirx.Select(expr.condition, _wide(expr.true_value), _wide(expr.false_value))


def _conversion(expr: Cast) -> tirx.Expr:
    """Return a conversion; one to a small type rounds, and its result is float32 again."""
    target, value = str(expr.ty.dtype), expr.value
    if target in _SMALL:
        through = value if str(value.ty.dtype) == "float32" else Cast("float32", value)
        return Cast("float32", _rounded(target, through))
    return value if str(value.ty.dtype) == target else Cast(target, value)


def _call(call: Call) -> tirx.Expr:
    """Return a call, such as exp or a choice, with widened arguments."""
    if isinstance(call.op, Op) and call.op.name == "tirx.address_of":
        return tirx.address_of(_unconverted(call.args[0]))
    if not isinstance(call.op, Op) or call.op.name in _AS_THEY_ARE:
        return call
    arguments = [_wide(argument) for argument in call.args]
    ty = PrimType("float32") if _is_small(call) else call.ty
    return Call(call.op, arguments, call.attrs, call.ty_args, call.span, ty)


def _unconverted(expr: tirx.Expr) -> tirx.Expr:
    """Return an addressed element in its own type."""
    return expr.value if isinstance(expr, Cast) and _is_small(expr.value) else expr


def _attribute(stmt: tirx.AttrStmt) -> tirx.AttrStmt:
    """Return a statement whose intrinsic gets addressed elements in their own type."""
    call = intrinsic_call(stmt)
    if call is None:
        return stmt
    arguments = [_unconverted(argument) for argument in call.args]
    passed = Call(call.op, arguments, call.attrs, call.ty_args, call.span, call.ty)
    return tirx.AttrStmt(stmt.node, stmt.attr_key, passed, stmt.body)


def _store(stmt: tirx.BufferStore) -> tirx.Stmt:
    dtype = str(stmt.buffer.dtype)
    value = _rounded(dtype, stmt.value) if dtype in _SMALL else stmt.value
    return tirx.BufferStore(stmt.buffer, value, list(stmt.indices))
