"""Calls in TIR: their side effects, and the names of external functions."""

from __future__ import annotations

from tvm import tirx
from tvm.ir import Call, GlobalVar, Op, StringImm, TensorLoad

from usmp.analysis.memory.calls import CallResolver
from usmp.codegen.c.reserved_names import is_keyword
from usmp.codegen.c.text import quoted
from usmp.codegen.c.types import UnsupportedInC
from usmp.support.text.plain_text import printable
from usmp.tir.nodes import nodes_of
from usmp.tir.op_names import EXTERN_CALLS

_IMPURE_CALLS = ("tirx.call_extern", "tirx.tvm_call_cpacked", "tirx.tvm_call_packed")


def may_have_effects(expr: tirx.Expr, calls: CallResolver) -> bool:
    """Return whether evaluating `expr` may have side effects.

    A call of a PrimFunc may write to memory, even by `call_pure_extern`.
    """
    return any(
        isinstance(call.op, GlobalVar)
        or call.op.name in _IMPURE_CALLS
        or calls.resolve(call) is not None
        for call in nodes_of(expr, Call)
    )


def reads_memory(expr: tirx.Expr, calls: CallResolver) -> bool:
    """Return whether a store or a call may change the value of `expr`."""
    return bool(nodes_of(expr, TensorLoad)) or may_have_effects(expr, calls)


def extern_name(call: Call) -> str | None:
    """Return the function name in a `call_extern` or `call_pure_extern`; None for other calls, and
    for names that are not constants."""
    is_extern = isinstance(call.op, Op) and call.op.name in EXTERN_CALLS
    return call.args[0].value if is_extern and isinstance(call.args[0], StringImm) else None


def extern_function(call: Call) -> str:
    """Return the function name in a `call_extern` or `call_pure_extern`, checked for C.

    Raises
    ------
    UnsupportedInC
        the name is not a constant, or not a valid function name in C.
    """
    name = extern_name(call)
    if name is None:
        raise UnsupportedInC(f"call of a function whose name is not a constant: {call}")
    if not (name.isascii() and name.isidentifier()) or is_keyword(name):
        raise UnsupportedInC(
            f"call of {quoted(printable(name))}, which cannot be the name of a function in C; "
            "rename the function"
        )
    return name


def extern_names(body: tirx.Stmt) -> list[str]:
    """Return the function names in all `call_extern` and `call_pure_extern`, without duplicates."""
    names = map(extern_name, nodes_of(body, Call))
    return list(dict.fromkeys(name for name in names if name is not None))
