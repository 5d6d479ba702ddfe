"""Names of the operators that expressions call."""

from __future__ import annotations

from typing import Any

from tvm import tirx
from tvm.ir import Call, Op

from usmp.tir.nodes import nodes_of

EXTERN_CALLS = ("tirx.call_extern", "tirx.call_pure_extern")
"""Operators that call a function of C by its name."""
PACKED_CALLS = (
    "tirx.tvm_call_packed",
    "tirx.tvm_call_cpacked",
    "tirx.tvm_call_packed_lowered",
    "tirx.tvm_call_cpacked_lowered",
)
"""Operators that call a function of TVM's runtime by its name."""


def op_name(expr: Any) -> str:
    """Return the name of the operator that an expression of TIR or Relax calls, as in "relax.add".

    The name is "" for calls of functions, and for anything that is no call.
    """
    return str(getattr(getattr(expr, "op", None), "name", ""))


def calls_outside(func: tirx.PrimFunc) -> bool:
    """Return whether a PrimFunc calls a function of C or of TVM's runtime by its name."""
    calls = nodes_of(func.body, Call)
    return any(op_name(call) in (*EXTERN_CALLS, *PACKED_CALLS) for call in calls)


def is_op(expr: tirx.Expr | None, name: str) -> bool:
    """Return whether `expr` applies the operator `name`."""
    if expr is None or type(expr) is not Call:
        return False
    op = expr.op
    return type(op) is Op and bool(op.name == name)
