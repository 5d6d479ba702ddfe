"""The walk over a PrimFunc in flat TIR that yields its memory events.

Only this file defines how each kind of statement and expression of TIR accesses memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import tvm_ffi
from tvm import tirx
from tvm.ir import Call, Op, PointerType, TensorLoad

from usmp.analysis.memory.access import Access, declared_access
from usmp.analysis.memory.addresses import address_of
from usmp.analysis.memory.calls import PrimFuncCall
from usmp.analysis.memory.effects import (
    ASYNCHRONOUS_ATTRIBUTES,
    CONCURRENT_ATTRIBUTES,
    KEEP_A_POINTER,
    has_effect,
)
from usmp.analysis.memory.stated_kernel import StatedKernel, stated_kernel
from usmp.analysis.memory.walk.events import (
    CallFunction,
    CallIntrinsic,
    CallKernel,
    Condition,
    Declare,
    Define,
    Enter,
    Evaluation,
    EvaluationPart,
    Event,
    Keep,
    Leave,
    Load,
    Operate,
    Outermost,
    Pass,
    Region,
    Store,
)
from usmp.tir.identity import identity
from usmp.tir.op_names import is_op
from usmp.tir.tensor_intrin import intrinsic_call
from usmp.tir.walk_expressions import ExprCallbacks, walk_expressions

_SKIP = tvm_ffi.WalkResult.SKIP


def memory_events(
    name: str,
    body: tirx.Stmt,
    resolve: Callable[[Call], PrimFuncCall | None] = lambda call: None,
    kernels: Mapping[str, StatedKernel] | None = None,
) -> Sequence[Event]:
    """Return the memory events of a PrimFunc, in program order.

    Parameters
    ----------
    name
        name of the PrimFunc, for messages.
    body
        body of the PrimFunc.
    resolve
        returns the PrimFunc of the module that is called; None for unknown functions.
    kernels
        the functions outside of the module with stated accesses, by symbol.

    Raises
    ------
    ValueError
        TIR that is not flat; a kernel that is called with fewer arguments than it states.
    """
    walk = _Walk(name, resolve, kernels or {})
    for stmt in tirx.stmt_list(body):
        walk.events.append(Outermost(stmt))
        walk.statement(stmt)
    return walk.events


class _Walk:
    def __init__(
        self,
        name: str,
        resolve: Callable[[Call], PrimFuncCall | None],
        kernels: Mapping[str, StatedKernel],
    ) -> None:
        self.name = name
        self.resolve = resolve
        self.kernels = kernels
        self.events: list[Event] = []
        self.conditions: tuple[Condition, ...] = ()
        self.loop_variables: set[int] = set()
        """The identities of loop variables, which point to no memory."""

    def statement(self, stmt: tirx.Stmt) -> None:
        """Walk a statement."""
        match stmt:
            case tirx.SeqStmt():
                for child in stmt.seq[:]:
                    self.statement(child)
            case tirx.BufferStore():
                self.store(stmt)
            case tirx.Evaluate():
                self.evaluate(stmt.value)
            case tirx.AllocBuffer():
                self.events.append(Declare(stmt))
            case tirx.DeclBuffer():
                self.address(stmt.data)
                self.events.append(Declare(stmt))
            case tirx.Bind():
                self.bind(stmt)
            case tirx.IfThenElse():
                self.branch(stmt)
            case tirx.For():
                bounds = [stmt.min, stmt.extent, *([] if stmt.step is None else [stmt.step])]
                self.loop_variables.add(identity(stmt.loop_var))
                concurrent = stmt.kind != tirx.ForKind.SERIAL
                self.inside(Region(stmt, repeats=True, concurrent=concurrent), bounds)
            case tirx.While():
                self.inside(Region(stmt, repeats=True), [stmt.condition])
            case tirx.AttrStmt():
                self.attribute(stmt)
            case tirx.Return():
                if stmt.value is not None:
                    self.evaluate(stmt.value, is_kept=True)
            case tirx.AssertStmt():
                self.evaluate(stmt.condition)
            case tirx.Break() | tirx.Continue():
                # Events follow program order, not jumps, because later statements may run as well.
                pass
            case _:
                raise ValueError(
                    f"{self.name}: {type(stmt).__name__} found; lower the PrimFunc to flat TIR "
                    "(usmp.transform.LowerToFlatTIR) before planning"
                )

    def store(self, stmt: tirx.BufferStore) -> None:
        """Add the event of a store. A stored address escapes (see `keep`)."""
        event = self.evaluation([stmt.value, *stmt.indices])
        self.keep(event, stmt.value)
        event.store = Store(stmt.buffer, tuple(stmt.indices), stmt.value.ty)
        self.events.append(event)

    def bind(self, stmt: tirx.Bind) -> None:
        if isinstance(stmt.var.ty, PointerType):
            self.address(stmt.value)
            self.events.append(Declare(stmt))
        else:
            self.evaluate(stmt.value)
            self.events.append(Define(stmt.var, stmt.value))

    def branch(self, stmt: tirx.IfThenElse) -> None:
        self.evaluate(stmt.condition)
        around = self.conditions
        self.conditions = (*around, (stmt.condition, True))
        self.statement(stmt.then_case)
        if stmt.else_case is not None:
            self.conditions = (*around, (stmt.condition, False))
            self.statement(stmt.else_case)
        self.conditions = around

    def attribute(self, stmt: tirx.AttrStmt) -> None:
        call = intrinsic_call(stmt)
        if call is not None:
            self.events.append(CallIntrinsic(call, self.conditions))
        elif isinstance(stmt.value, tirx.Expr):
            self.evaluate(stmt.value)
        concurrent, asynchronous = (
            str(stmt.attr_key) in keys for keys in (CONCURRENT_ATTRIBUTES, ASYNCHRONOUS_ATTRIBUTES)
        )
        self.inside(Region(stmt, concurrent=concurrent, asynchronous=asynchronous), [])

    def inside(self, region: Region, head: Sequence[tirx.Expr]) -> None:
        self.events.append(Enter(region, self.evaluation(head)))
        self.statement(region.stmt.body)
        self.events.append(Leave(region))

    def evaluate(self, expr: tirx.Expr, is_kept: bool = False) -> None:
        event = self.evaluation([expr])
        if is_kept:
            self.keep(event, expr)
        self.events.append(event)

    def address(self, expr: tirx.Expr) -> None:
        """Add the accesses that compute an address; taking an address accesses nothing else."""
        computed = address_of(expr).computed
        if computed:
            self.events.append(self.evaluation(computed))

    def keep(self, event: Evaluation, value: tirx.Expr) -> None:
        """Add to `event` that the memory behind `value` may be accessed at any time from now on."""
        # Only these parts can yield a pointer.
        if any(isinstance(part, Pass | CallFunction | CallKernel) for part in event.parts):
            bases = tuple(address_of(value).bases)
            if bases:
                event.parts.append(Keep(bases))

    # ---- expressions

    def evaluation(self, exprs: Sequence[tirx.Expr]) -> Evaluation:
        """Return the event of evaluating expressions."""
        event = Evaluation(tuple(exprs), self.conditions)
        walked = [expr for expr in exprs if type(expr) is not tirx.IntImm]
        if walked:
            self.expressions(walked, self.conditions, event.parts)
        return event

    def expressions(
        self,
        exprs: Sequence[tirx.Expr],
        conditions: tuple[Condition, ...],
        parts: list[EvaluationPart],
    ) -> None:
        """Add the parts of expressions that are evaluated under conditions."""

        def choose(condition: tirx.Expr, a: tirx.Expr, b: tirx.Expr) -> tvm_ffi.WalkResult:
            self.expressions([condition], conditions, parts)
            self.expressions([a], (*conditions, (condition, True)), parts)
            self.expressions([b], (*conditions, (condition, False)), parts)
            return _SKIP

        def on_select(select: tirx.Select) -> tvm_ffi.WalkResult:
            return choose(select.condition, select.true_value, select.false_value)

        def on_load(load: TensorLoad) -> tvm_ffi.WalkResult:
            indices = tuple(load.indices)
            parts.append(Load(load.source, indices, conditions, load.ty))
            walk_expressions(indices, callbacks)
            return _SKIP

        def on_let(let: tirx.Let) -> tvm_ffi.WalkResult:
            parts.append(Define(let.var, let.value))
            walk_expressions([let.value, let.body], callbacks)
            return _SKIP

        def on_call(call: Call) -> tvm_ffi.WalkResult:
            if is_op(call, "prim.if_then_else"):
                return choose(*call.args)
            called = self.resolve(call)
            if called is not None:
                computed = [
                    part for argument in called.arguments for part in address_of(argument).computed
                ]
                parts.append(CallFunction(called, call, self.evaluation(computed)))
                return _SKIP
            stated = stated_kernel(call, self.kernels, self.name)
            if stated is not None:
                kernel, _ = stated
                arguments, end = call.args[1:], len(kernel.params)
                computed = [part for a in arguments[:end] for part in address_of(a).computed]
                rest = self.evaluation(arguments[end:])
                parts.append(CallKernel(kernel, call, self.evaluation(computed), rest))
                return _SKIP
            return self.operator(call, callbacks, parts)

        def on_variable(var: tirx.Var) -> tvm_ffi.WalkResult:
            if identity(var) not in self.loop_variables:
                parts.append(Pass(var, Access.UNKNOWN))
            return _SKIP

        callbacks: ExprCallbacks = {
            tirx.Select: on_select,
            TensorLoad: on_load,
            tirx.Let: on_let,
            Call: on_call,
            tirx.Var: on_variable,
        }
        walk_expressions(exprs, callbacks)

    def operator(
        self, call: Call, callbacks: ExprCallbacks, parts: list[EvaluationPart]
    ) -> tvm_ffi.WalkResult:
        """Add the parts of an operator of TIR, or of an unknown function."""
        if is_op(call, "tirx.address_of") and isinstance(call.args[0], TensorLoad):
            parts.append(Pass(call.args[0].source, Access.UNKNOWN))
            walk_expressions(call.args[0].indices, callbacks)
            return _SKIP
        declared = declared_access(call)
        if declared is not None:
            address = address_of(call)
            parts += [Pass(base, declared) for base in address.bases]
            walk_expressions(address.computed, callbacks)
            return _SKIP
        if has_effect(call):
            parts.append(Operate(call))
        if isinstance(call.op, Op) and call.op.name in KEEP_A_POINTER:
            parts.append(Keep(tuple(address_of(call).bases)))
        return tvm_ffi.WalkResult.ADVANCE
