"""Rewrites of TIR expressions, so that TVM's LLVM code generator computes the same as the C.

The semantics of some operators differ. LLVM evaluates all operands of `&&`, `||` and `?:`.
Overflow of unsigned arithmetic is undefined in LLVM and wraps in C. `!=` with a NaN is false in
LLVM and true in C. LLVM cannot compare booleans.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tvm_ffi
from tvm import tirx
from tvm.ir import Call, GlobalVar, Op, PointerType, TensorLoad
from tvm.tirx import Cast, Expr

from usmp.analysis.memory.calls import CallResolver
from usmp.codegen.c.calls import extern_name
from usmp.codegen.llvm.intrinsics import (
    DIFFERENCE_64,
    LLVM_INTRINSICS,
    PRODUCT_64,
    SUM_64,
    intrinsic_function,
)
from usmp.support.text.unique_names import UniqueNames
from usmp.tir.dtypes import is_float
from usmp.tir.intrinsics import is_low_bits_function
from usmp.tir.math_functions import MATH_FUNCTIONS
from usmp.tir.nodes import nodes_of

_LIBRARY = {"tirx.exp2": "exp2", "tirx.fmod": "fmod"}
"""Functions in <math.h> of operators that LowerIntrin does not lower."""
_INFINITIES = {"float32": ("int32", 0x7F800000), "float64": ("int64", 0x7FF << 52)}
"""The bits of infinity; without the sign, the bits of a NaN are greater."""
_PASSED = ("int32", "int64", "uint32", "uint64", "float32", "float64", "void", "")
"""Types of arguments and results that all calling conventions pass in the same way."""
_WRAPPING_64 = {tirx.Add: SUM_64, tirx.Sub: DIFFERENCE_64, tirx.Mul: PRODUCT_64}
_MAY_TRAP = (TensorLoad, tirx.Div, tirx.Mod, Call)


class UnsupportedByLLVM(ValueError):
    """Error for TIR that cannot be compiled to an object file; the message names it."""


class Expressions:
    """A rewriter of the expressions in one module.

    Parameters
    ----------
    functions
        the PrimFuncs of the module.
    """

    def __init__(self, functions: Mapping[GlobalVar, tirx.PrimFunc]) -> None:
        self._functions = {str(variable.name_hint): variable for variable in functions}
        self._calls = CallResolver({str(v.name_hint): func for v, func in functions.items()})
        self._names = UniqueNames(self._functions)
        self._intrinsics: dict[str, tuple[GlobalVar, tirx.PrimFunc]] = {}

    @property
    def intrinsics(self) -> dict[GlobalVar, tirx.PrimFunc]:
        """The further PrimFuncs that the rewritten expressions call."""
        return dict(self._intrinsics.values())

    def rewrite(self, func: tirx.PrimFunc) -> tirx.PrimFunc:
        """Return `func` with expressions for which LLVM computes the same as C.

        Parameters
        ----------
        func
            TIR after LowerIntrin for target "c".

        Raises
        ------
        UnsupportedByLLVM
            a function of the user takes or returns values that have neither 32 nor 64 bits.
        """
        self._results: dict[str, tirx.Var] = {}
        for call in nodes_of(func.body, Call):
            self._check(call)
        callbacks: list[tuple[Any, Any]] = [
            (Call, self._call),
            (tirx.Select, _select),
            ((tirx.And, tirx.Or), _short_circuit),
            ((tirx.EQ, tirx.NE, tirx.LT, tirx.LE, tirx.GT, tirx.GE), _comparison),
            ((tirx.Add, tirx.Sub, tirx.Mul), self._wrapping),
        ]
        body = tvm_ffi.structural_map(func.body, callbacks)
        results = [tirx.AllocBuffer(buffer) for buffer in self._results.values()]
        return func.with_body(tirx.SeqStmt([*results, body]) if results else body)

    def _call(self, call: Call) -> Expr:
        """Rewrite a call of a PrimFunc, an operator, or a function outside of the module."""
        if not isinstance(call.op, Op):
            return call
        name = call.op.name
        if name == "tirx.isnan":
            return _is_nan(call.args[0])
        if name == "tirx.fabs":
            return tirx.call_llvm_pure_intrin(str(call.ty.dtype), "llvm.fabs", *call.args)
        if name in _LIBRARY:
            return _library(_LIBRARY[name], call)
        return self._extern(call)

    def _extern(self, call: Call) -> Expr:
        callee = self._calls.resolve(call)
        if callee is not None:
            variable, arguments = self._functions[callee.callee], self._calls.passed(callee)
            return Call(variable, arguments, call.attrs, call.ty_args, call.span, call.ty)
        name = extern_name(call)
        if name is None:
            return call
        if is_low_bits_function(name):
            return Cast(str(call.ty.dtype), call.args[1])
        if name in LLVM_INTRINSICS:
            return self._intrinsic(name, *call.args[1:])
        return call

    def _check(self, call: Call) -> None:
        """Raise if calling conventions differ in passing the types of an external call."""
        name = extern_name(call)
        known = {*MATH_FUNCTIONS, *LLVM_INTRINSICS}
        if (
            name is None
            or name in known
            or is_low_bits_function(name)
            or self._calls.resolve(call) is not None
        ):
            return
        for value in (call, *call.args[1:]):
            dtype = str(getattr(value.ty, "dtype", "void"))
            if not _is_pointer(value) and dtype not in _PASSED:
                raise UnsupportedByLLVM(
                    f"{name} takes or returns {dtype}; give functions of your own integers of 32 "
                    "or 64 bits, or compile with target c"
                )

    def _intrinsic(self, name: str, *arguments: Expr) -> Expr:
        """Return a load of the call's result; the call returns 0, which is the load's index."""
        if name not in self._intrinsics:
            self._intrinsics[name] = GlobalVar(self._names.unique(name)), intrinsic_function(name)
        variable, function = self._intrinsics[name]
        *params, pointer = function.params
        converted = [
            argument if argument.ty == param.ty else Cast(str(param.ty.dtype), argument)
            for param, argument in zip(params, arguments, strict=True)
        ]
        dtype = str(pointer.ty.element_type.dtype)
        if dtype not in self._results:
            self._results[dtype] = tirx.decl_buffer((1,), dtype, f"result_{dtype}")
        result = self._results[dtype]
        call = Call(variable, [*converted, tirx.buffer_data(result)], ret_ty=function.ret_type)
        return result[call]

    def _wrapping(self, expr: Any) -> Expr:
        """Rewrite unsigned arithmetic so that it wraps without overflow."""
        dtype = str(expr.ty.dtype)
        if dtype == "uint64":
            return self._intrinsic(_WRAPPING_64[type(expr)], expr.a, expr.b)
        if dtype != "uint32":
            return expr
        a, b = Cast("uint64", expr.a), Cast("uint64", expr.b)
        if isinstance(expr, tirx.Sub):
            beyond = tirx.IntImm("uint64", 2**32)
            return Cast(dtype, tirx.Sub(tirx.Add(a, beyond), b))
        return Cast(dtype, type(expr)(a, b))


def _library(stem: str, call: Call) -> Expr:
    dtype = str(call.ty.dtype)
    function = f"{stem}f" if dtype == "float32" else stem
    return tirx.call_pure_extern(dtype, function, *call.args)


def _is_pointer(value: Expr) -> bool:
    return isinstance(value.ty, PointerType) or tirx.is_buffer_var(value)


def _is_nan(value: Expr) -> Expr:
    """Return a test of the bits of `value`, because TVM lets LLVM assume that there are no NaNs."""
    dtype, infinity = _INFINITIES[str(value.ty.dtype)]
    bits = tirx.reinterpret(dtype, value)
    least = tirx.IntImm(dtype, -(2 ** (int(dtype[3:]) - 1)))
    magnitude = tirx.bitwise_and(bits, tirx.bitwise_not(least))
    return magnitude > tirx.IntImm(dtype, infinity)


def _select(expr: tirx.Select) -> Expr:
    if _may_trap(expr.true_value) or _may_trap(expr.false_value):
        return tirx.if_then_else(expr.condition, expr.true_value, expr.false_value)
    return expr


def _short_circuit(expr: tirx.And | tirx.Or) -> Expr:
    if not _may_trap(expr.b):
        return expr
    if isinstance(expr, tirx.And):
        return tirx.if_then_else(expr.a, expr.b, tirx.IntImm("bool", 0))
    return tirx.if_then_else(expr.a, tirx.IntImm("bool", 1), expr.b)


def _may_trap(expr: Expr) -> bool:
    """Return whether evaluating `expr` may fail, as by a load past the end of a buffer."""
    found = False

    def on_node(_: Expr) -> None:
        nonlocal found
        found = True

    tvm_ffi.structural_walk(expr, (_MAY_TRAP, on_node))
    return found


def _comparison(expr: Any) -> Expr:
    dtype = str(expr.a.ty.dtype)
    if dtype == "bool":
        return type(expr)(Cast("uint8", expr.a), Cast("uint8", expr.b))
    if isinstance(expr, tirx.NE) and is_float(dtype):
        return tirx.Not(tirx.EQ(expr.a, expr.b))
    return expr
