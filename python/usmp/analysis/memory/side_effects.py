"""Side effects of statements besides reads and writes of memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum

import tvm_ffi
from tvm import tirx
from tvm.ir import Call, Op, StringImm

from usmp.analysis.memory.calls import CallResolver, PrimFuncCall
from usmp.analysis.memory.effects import effect_kind
from usmp.objects.extern_kernel import ExternKernel
from usmp.tir.op_names import is_op

_HARMLESS = (0, 1, 4, 5)
"""TVM's `CallEffectKind`s of annotations, pure functions, and operators within arguments."""
_JUMP = 6


class Effect(IntEnum):
    """The kinds of side effects; a kind includes all smaller ones."""

    NONE = 0
    UNKNOWN = 1
    """A call or operator with unknown side effects; the order of all such calls is kept."""
    MAY_END = 2
    """The statement may end the run, so that later statements depend on it."""


def effect_of(
    stmt: tirx.Stmt | Sequence[tirx.Stmt],
    calls: CallResolver,
    callees: Mapping[str, Effect],
    kernels: Mapping[str, ExternKernel],
    is_main: bool = False,
) -> Effect:
    """Return the largest side effect of a statement, a body, or several statements.

    Parameters
    ----------
    calls
        a resolver of callees.
    callees
        the effects of the callees, by name.
    kernels
        the functions outside of the module with stated accesses, by symbol.
    is_main
        whether a return ends the run.
    """
    plain = _plain_call(stmt, calls)
    if plain is not None:
        return callees[plain.callee]
    found = Effect.NONE

    def on_call(call: Call) -> None:
        nonlocal found
        callee = calls.resolve(call)
        effect = _of_call(call, kernels) if callee is None else callees[callee.callee]
        found = max(found, effect)

    def on_end(_: tirx.AssertStmt | tirx.Return) -> None:
        nonlocal found
        found = Effect.MAY_END

    ends = (tirx.AssertStmt, tirx.Return) if is_main else (tirx.AssertStmt,)
    tvm_ffi.structural_walk(stmt, [(Call, on_call), (ends, on_end)], order="pre")
    return found


def _plain_call(stmt: object, calls: CallResolver) -> PrimFuncCall | None:
    """Return the call if a statement only calls a PrimFunc on variables (for a fast path)."""
    if not (isinstance(stmt, tirx.Evaluate) and isinstance(stmt.value, Call)):
        return None
    call = calls.resolve(stmt.value)
    if call is None:
        return None
    passed = (a.args[0] if is_op(a, "tirx.buffer_data") else a for a in call.arguments)
    return call if all(isinstance(argument, tirx.Var) for argument in passed) else None


def _of_call(call: Call, kernels: Mapping[str, ExternKernel]) -> Effect:
    if is_op(call, "tirx.call_extern") and isinstance(call.args[0], StringImm):
        kernel = kernels.get(str(call.args[0].value))
        # A failing kernel does not end the run itself: code that checks its status returns.
        if kernel is not None and not kernel.can_fail and not kernel.keeps_state:
            return Effect.NONE
    if not isinstance(call.op, Op):
        return Effect.UNKNOWN
    kind = effect_kind(call.op.name)
    if kind == _JUMP:
        return Effect.MAY_END
    return Effect.NONE if kind in _HARMLESS else Effect.UNKNOWN
