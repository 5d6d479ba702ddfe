"""What a call in TIR is: of a PrimFunc, of a function outside of the module, of an operator."""

from __future__ import annotations

from collections.abc import Mapping

import tvm_ffi
from tvm import tirx
from tvm.ir import Call, GlobalVar, Op, StringImm, TensorLoad

from usmp.codegen.names import MATH_FUNCTIONS

_EXTERN_CALLS = ("tirx.call_extern", "tirx.call_pure_extern")


def is_call_by_name(call: Call, functions: Mapping[str, object]) -> bool:
    """Whether `call` names one of `functions` as a string; <math.h> comes before PrimFuncs."""
    if not isinstance(call.op, Op) or call.op.name not in _EXTERN_CALLS:
        return False
    name = call.args[0]
    return isinstance(name, StringImm) and name.value in set(functions) - MATH_FUNCTIONS


def may_have_effects(expr: tirx.Expr) -> bool:
    """Whether it matters when, or how often, `expr` is evaluated."""
    calls: list[Call] = []
    tvm_ffi.structural_walk(expr, (Call, lambda call: calls.append(call)))
    return any(isinstance(c.op, GlobalVar) or c.op.name == "tirx.call_extern" for c in calls)


def reads_memory(expr: tirx.Expr) -> bool:
    """Whether the value of `expr` may differ after a store, or after a call."""
    loads: list[TensorLoad] = []
    tvm_ffi.structural_walk(expr, (TensorLoad, lambda load: loads.append(load)))
    return bool(loads) or may_have_effects(expr)


def extern_names(body: tirx.Stmt) -> list[str]:
    """Names of the functions that `body` calls by a string."""
    names: dict[str, None] = {}

    def on_call(call: Call) -> None:
        if isinstance(call.op, Op) and call.op.name in _EXTERN_CALLS:
            name = call.args[0]
            if isinstance(name, StringImm):
                names[name.value] = None

    tvm_ffi.structural_walk(body, (Call, on_call))
    return list(names)
