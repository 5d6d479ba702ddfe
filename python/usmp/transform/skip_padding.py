"""SkipPadding: skip accumulations of padding that change nothing.

A padded operator reads `x` inside the data and a constant outside, in its innermost loop. If the
constant leaves the accumulator as it is, the whole statement is guarded instead, and the guard is
hoisted out of the loops that it does not depend on:

    for ky, kx, c:                                  for ky:
        acc = acc + (inside(ky, kx) ? x : 0) * w      if inside(ky):
                                                        for kx:
                                                          if inside(kx):
                                                            for c: acc = acc + x * w
"""

from __future__ import annotations

import tvm
import tvm_ffi
from tvm import sym, tirx
from tvm.ir import Call, IRModule, TensorLoad

from usmp.passes import ModulePass, with_prim_funcs
from usmp.tir.nodes import changed_loop, conjuncts, is_const_int, mentions, nodes_of
from usmp.tir.op_names import is_op

_IF_THEN_ELSE = "prim.if_then_else"


@tvm.transform.module_pass(opt_level=0, name="usmp.SkipPadding")
class SkipPadding(ModulePass):
    """Guard accumulations of padding in PrimFuncs of flat loops, and hoist the guards.

    A statement `acc = acc op (c ? x : k)` of integers where `acc op k` is `acc` becomes
    `if c: acc = acc op x`. The parts of a guard that do not depend on a loop move before the loop.
    Guards that read memory, and accumulations of floats, stay as they are.
    """

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Rewrite every PrimFunc."""
        return with_prim_funcs(mod, _skip_padding)


def _skip_padding(func: tirx.PrimFunc) -> tirx.PrimFunc:
    body = tvm_ffi.structural_map(func.body, [(tirx.BufferStore, _guard), (tirx.For, _hoist)])
    return func.with_body(body)


def _guard(store: tirx.BufferStore) -> tirx.Stmt:
    """Return `acc = acc op (c ? x : k)` as `if (c) acc = acc op x`, if `acc op k` is `acc`."""
    value = store.value
    if not isinstance(value, (tirx.Add, tirx.Max)) or not _is_element(value.a, store):
        return store
    chosen = _conditionals(value.b)
    if len(chosen) != 1:
        return store
    (call,) = chosen
    condition, inside, outside = call.args
    neutral = _replaced(value.b, call, outside)
    if not _is_neutral(type(value), neutral) or _reads_memory(condition):
        return store
    accumulated = type(value)(value.a, _replaced(value.b, call, inside))
    guarded = tirx.BufferStore(store.buffer, accumulated, store.indices)
    return tirx.IfThenElse(condition, guarded, None)


def _is_element(expr: tirx.Expr, store: tirx.BufferStore) -> bool:
    """Return whether `expr` loads the element that `store` writes."""
    return (
        isinstance(expr, TensorLoad)
        and expr.source.same_as(store.buffer)
        and tvm_ffi.structural_equal(list(expr.indices), list(store.indices))
    )


def _conditionals(expr: tirx.Expr) -> list[Call]:
    return [call for call in nodes_of(expr, Call) if is_op(call, _IF_THEN_ELSE)]


def _replaced(expr: tirx.Expr, old: Call, new: tirx.Expr) -> tirx.Expr:
    return tvm_ffi.structural_map(expr, (Call, lambda call: new if call.same_as(old) else call))


def _is_neutral(operation: type, operand: tirx.Expr) -> bool:
    """Return whether the operand is the neutral integer of an operation."""
    dtype = str(operand.ty.dtype)
    if not dtype.startswith("int"):
        return False
    value = sym.Analyzer().simplify(operand)
    neutral = 0 if operation is tirx.Add else int(tirx.min_value(dtype))
    return is_const_int(value, neutral)


def _reads_memory(expr: tirx.Expr) -> bool:
    return bool(nodes_of(expr, TensorLoad))


def _hoist(loop: tirx.For) -> tirx.Stmt:
    """Hoist the loop-invariant conditions of a guard around a whole loop body out of the loop."""
    body = loop.body
    if not isinstance(body, tirx.IfThenElse) or body.else_case is not None:
        return loop
    conditions = conjuncts(body.condition)
    if any(_reads_memory(condition) for condition in conditions):
        return loop
    inner = [c for c in conditions if mentions(c, loop.loop_var)]
    outer = [c for c in conditions if not mentions(c, loop.loop_var)]
    if not outer:
        return loop
    content = tirx.IfThenElse(tirx.all(*inner), body.then_case, None) if inner else body.then_case
    return tirx.IfThenElse(tirx.all(*outer), changed_loop(loop, loop.kind, content), None)
