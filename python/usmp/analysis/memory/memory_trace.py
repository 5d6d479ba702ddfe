"""The trace of a PrimFunc: its accesses to memory, in program order.

This is a fold over the memory events of a PrimFunc. It records the memory, bytes, conditions and
loops of each load and store. An opaque operation counts as an access to all of the memory. If the
address of a memory may be used later, the memory is `escaped`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tvm import tirx
from tvm.ir import TensorLoad

from usmp.analysis.memory.access import Access, declared_access
from usmp.analysis.memory.addresses import address_of, is_constant
from usmp.analysis.memory.indices.iterations import TracedLoop, trace_loop
from usmp.analysis.memory.memories import UNBOUNDED, Address, Memory
from usmp.analysis.memory.points_to import PointsTo
from usmp.analysis.memory.traced_access import (
    CalleeReach,
    MemoryTrace,
    TracedAccess,
    TracedStatement,
)
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
    Pass,
    Region,
)
from usmp.tir.nodes import is_const_int, nodes_of
from usmp.tir.op_names import is_op


def fold_trace(
    events: Sequence[Event], points: PointsTo, callees: Mapping[str, CalleeReach]
) -> MemoryTrace:
    """Return the trace of a PrimFunc.

    Parameters
    ----------
    events
        its memory events.
    points
        the memories that its variables point to.
    callees
        the accesses of its callees, by name.
    """
    fold = _Fold(points, callees)
    for event in events:
        fold.take(event)
    return fold.trace


class _Fold:
    def __init__(self, points: PointsTo, callees: Mapping[str, CalleeReach]) -> None:
        self.points = points
        self.callees = callees
        self.trace = MemoryTrace()
        self.registers: set[Memory] = set()
        """Memories outside of global memory, which no other function accesses."""
        self.loops: list[TracedLoop] = []
        self.order = 0

    # ---- statements

    def take(self, event: Event) -> None:
        """Record the accesses of an event."""
        if isinstance(event, Evaluation):
            self.evaluate(event)
        elif isinstance(event, Declare):
            self.declare(event.stmt)
        elif isinstance(event, Define):
            self.define(event.var, event.value)
        elif isinstance(event, CallIntrinsic):
            self.call_intrinsic(event)
        elif isinstance(event, Enter):
            self.enter(event.region, event.head)
        elif isinstance(event, Leave):
            self.leave(event.region)

    def declare(self, stmt: tirx.AllocBuffer | tirx.DeclBuffer | tirx.Bind) -> None:
        if isinstance(stmt, tirx.Bind):
            return
        if isinstance(stmt, tirx.AllocBuffer):
            if stmt.buffer.scope().startswith("global"):
                self.trace.allocated.add(stmt.buffer)
            else:
                self.registers.add(stmt.buffer)
        # Loads of layout variables are not traced, so memory that a layout depends on escapes.
        self.escape(self.points.layouts.get(stmt.buffer, ()))

    def define(self, var: tirx.Var, value: tirx.Expr) -> None:
        is_other = var in self.trace.bound and not self.trace.bound[var].same_as(value)
        # A variable with two values is unknown: bind it to a fresh variable without a value.
        self.trace.bound[var] = tirx.Var(var.name, var.ty) if is_other else value

    def call_intrinsic(self, event: CallIntrinsic) -> None:
        """Record the address arguments of an intrinsic; events of its body have the accesses."""
        statement = self.statement()
        for element in event.call.args:
            if not isinstance(element, TensorLoad) or element.source in self.registers:
                continue
            for address in self.points.element(element.source, [*element.indices]):
                access = TracedAccess(statement, address, 0, 0, False, event.conditions)
                self.trace.passed.setdefault(address.memory, []).append(access)

    def enter(self, region: Region, head: Evaluation) -> None:
        loop = TracedLoop()
        is_read = not all(is_constant(expr) for expr in head.exprs)
        if isinstance(region.stmt, tirx.For):
            loop = trace_loop(region.stmt, self.loops, self.trace.bound)
            if is_read:
                self.evaluate(head)
        if region.repeats or region.concurrent:
            self.loops.append(loop)
        if is_read:
            # C evaluates the bounds again before every iteration.
            self.evaluate(head)

    def leave(self, region: Region) -> None:
        if region.repeats or region.concurrent:
            self.loops.pop()
        if region.asynchronous:
            for var in nodes_of(region.stmt.body, tirx.Var):
                self.escape(self.points.of(var))

    def statement(self, loads_first: bool = False, callee: str | None = None) -> TracedStatement:
        self.order += 1
        return TracedStatement(self.order, tuple(self.loops), loads_first, callee)

    # ---- evaluations

    def evaluate(self, evaluation: Evaluation) -> None:
        """Record the loads and the accesses through pointers, and then the store."""
        if evaluation.is_call:
            (part,) = evaluation.parts
            if isinstance(part, CallKernel):
                self.call_kernel(part, evaluation.conditions)
                return
            if isinstance(part, CallFunction) and self.call(part, evaluation.conditions):
                return
        store = evaluation.store
        statement = self.statement(loads_first=store is not None)
        for part in evaluation.parts:
            self.note_part(statement, part)
        if store is not None:
            self.access(statement, store.buffer, store.indices, evaluation.conditions, True)

    def note_part(self, statement: TracedStatement, part: EvaluationPart) -> None:
        if isinstance(part, Load):
            self.access(statement, part.buffer, part.indices, part.conditions, False)
        elif isinstance(part, Pass):
            self.anywhere(statement, part.pointer, part.access)
        elif isinstance(part, Define):
            self.define(part.var, part.value)
        elif isinstance(part, Keep):
            for pointer in part.pointers:
                self.escape(self.points.of(pointer))
        elif isinstance(part, CallFunction):
            # A call within an expression is opaque, because its order in the expression is open.
            allocated = self.callees[part.call.callee].allocated
            self.trace.allocated |= allocated
            self.escape(allocated)
            for var in nodes_of(part.node, tirx.Var):
                self.escape(self.points.of(var))
            self.give(statement, part.call.arguments)
            self.note_parts(statement, part.computed)
        elif isinstance(part, CallKernel):
            self.give(statement, part.node.args[1 : len(part.kernel.params) + 1])
            self.note_parts(statement, part.computed)
            self.note_parts(statement, part.rest)

    def note_parts(self, statement: TracedStatement, evaluation: Evaluation) -> None:
        for part in evaluation.parts:
            self.note_part(statement, part)

    def give(self, statement: TracedStatement, arguments: Iterable[tirx.Expr]) -> None:
        """Record that an opaque call may access all memory of its arguments."""
        for argument in arguments:
            for base in address_of(argument).bases:
                self.anywhere(statement, base, declared_access(argument) or Access.UNKNOWN)

    def escape(self, memories: Iterable[Memory]) -> None:
        self.trace.escaped.update(memories)

    # ---- accesses

    def note(self, access: TracedAccess) -> None:
        if access.address.memory not in self.registers:
            self.trace.accesses.setdefault(access.address.memory, []).append(access)

    def access(
        self,
        statement: TracedStatement,
        buffer: tirx.Var,
        indices: Iterable[tirx.Expr],
        conditions: tuple[Condition, ...],
        is_write: bool,
    ) -> None:
        known = self.points.known(buffer)
        if known is None or known in self.registers:
            return
        size = self.points.element_bytes(known)
        for address in self.points.element(known, [*indices]):
            self.note(TracedAccess(statement, address, 0, size, is_write, conditions))

    def anywhere(self, statement: TracedStatement, var: tirx.Var, access: Access) -> None:
        """Record that all memory behind `var` may be accessed, because its address is passed on."""
        for memory in self.points.of(var):
            everywhere = Address(memory, None)
            self.note(TracedAccess(statement, everywhere, 0, 0, access.may_write, ()))

    # ---- calls

    def call(self, called: CallFunction, conditions: tuple[Condition, ...]) -> bool:
        """Record the accesses of a call of a PrimFunc; return False if it must be opaque."""
        call, callee = called.call, self.callees[called.call.callee]
        if len(call.arguments) != len(callee.params):
            return False
        if called.computed.exprs:
            self.evaluate(called.computed)
        statement = self.statement(callee=call.callee)
        arguments = [self.points.addresses_of(argument) for argument in call.arguments]
        for param, addresses in zip(callee.params, arguments, strict=True):
            if param in callee.escaped:
                self.escape(address.memory for address in addresses)
            for address in addresses:
                self.reach(statement, address, param, callee, conditions)
        for memory in callee.allocated:
            self.trace.allocated.add(memory)
            self.reach(statement, Address(memory), memory, callee, conditions)
        self.escape(callee.escaped & callee.allocated)
        return True

    def reach(
        self,
        statement: TracedStatement,
        address: Address,
        memory: Memory,
        callee: CalleeReach,
        conditions: tuple[Condition, ...],
    ) -> None:
        """Record the accesses of a call to a `memory` of the callee that begins at `address`."""
        reach = callee.reach.get(memory)
        if reach is not None:
            is_write = reach.written_end > -UNBOUNDED
            first, end = reach.first, reach.written_end
            self.note(TracedAccess(statement, address, first, end, is_write, conditions, memory))

    def call_kernel(self, called: CallKernel, conditions: tuple[Condition, ...]) -> None:
        """Record the stated accesses of a kernel."""
        if called.computed.exprs:
            self.evaluate(called.computed)
        # Evaluate the other arguments before and after the call: their accesses are not stated.
        self.evaluate(called.rest)
        kernel = called.kernel
        statement = self.statement(callee=kernel.key)
        stated = zip(kernel.params, called.node.args[1:], kernel.kernel.arguments, strict=False)
        for param, argument, known in stated:
            if known.reads or known.writes:
                size, writes = int(known.size_bytes), bool(known.writes)
                for address in self.stated_addresses(argument):
                    self.note(TracedAccess(statement, address, 0, size, writes, conditions, param))
        self.evaluate(called.rest)

    def stated_addresses(self, argument: tirx.Expr) -> tuple[Address, ...]:
        """Return the addresses of an argument, or of the data of a `tvm_access_ptr` at offset 0."""
        if is_op(argument, "tirx.tvm_access_ptr") and is_const_int(argument.args[2], 0):
            argument = argument.args[1]
        return self.points.addresses_of(argument)
