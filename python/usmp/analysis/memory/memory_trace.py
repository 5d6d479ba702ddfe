"""The accesses of a PrimFunc to memory, in the order in which they run.

A PrimFunc is walked once. Each load and store is noted: of which memory, at which bytes, under
which conditions, in which loops. What cannot be followed counts as an access to all of the memory;
where an address is kept for later, the memory is `escaped`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import tvm_ffi
from tvm import tirx
from tvm.ir import Call, Op, PointerType, TensorLoad

from usmp.analysis.memory.access import Access, declared_access
from usmp.analysis.memory.addresses import address_of, is_constant, is_op
from usmp.analysis.memory.calls import CallResolver, PrimFuncCall
from usmp.analysis.memory.effects import (
    ASYNCHRONOUS_ATTRIBUTES,
    CONCURRENT_ATTRIBUTES,
    KEEP_A_POINTER,
)
from usmp.analysis.memory.iterations import TracedLoop, trace_loop
from usmp.analysis.memory.memories import Address, Memory
from usmp.analysis.memory.points_to import PointsTo
from usmp.analysis.memory.stated_kernel import StatedKernel, stated_kernel
from usmp.analysis.memory.statement_walk import StatementWalk
from usmp.analysis.memory.traced_access import (
    UNBOUNDED,
    CalleeReach,
    Condition,
    MemoryTrace,
    TracedAccess,
    TracedStatement,
)
from usmp.tir.nodes import nodes_of
from usmp.tir.tensor_intrin import intrinsic_call
from usmp.tir.walk_expressions import ExprCallbacks, walk_expressions


def trace_function(
    name: str,
    calls: CallResolver,
    points: PointsTo,
    callees: Mapping[str, CalleeReach],
    kernels: Mapping[str, StatedKernel],
) -> MemoryTrace:
    """The accesses of a PrimFunc.

    Parameters
    ----------
    name
        of the PrimFunc.
    calls
        has it, and those that it may call.
    points
        what its variables point to.
    callees
        what those access that it calls, by name.
    kernels
        the functions outside of the module that state what they do, by symbol.

    Raises
    ------
    ValueError
        TIR that is not flat; a kernel that is called with less arguments than it states.
    """
    return _Walk(name, calls, points, callees, kernels).run()


class _Walk(StatementWalk):
    def __init__(
        self,
        name: str,
        calls: CallResolver,
        points: PointsTo,
        callees: Mapping[str, CalleeReach],
        kernels: Mapping[str, StatedKernel],
    ) -> None:
        super().__init__(name)
        self.name = name
        self.kernels = kernels
        self.func = calls.functions[name]
        self.calls = calls
        self.points = points
        self.callees = callees
        self.trace = MemoryTrace()
        self.registers: set[Memory] = set()
        """Memories whose address no other function can have."""
        self.loops: list[TracedLoop] = []
        self.conditions: tuple[Condition, ...] = ()
        self.order = 0

    def run(self) -> MemoryTrace:
        self.statement(self.func.body)
        return self.trace

    # ---- statements

    def _allocate(self, stmt: tirx.AllocBuffer) -> None:
        if stmt.buffer.scope().startswith("global"):
            self.trace.allocated.add(stmt.buffer)
        else:
            self.registers.add(stmt.buffer)
        self._lay_out(stmt.buffer)

    def _declare(self, stmt: tirx.DeclBuffer) -> None:
        self._evaluate_address(stmt.data)
        self._lay_out(stmt.buffer)

    def _lay_out(self, buffer: tirx.Var) -> None:
        """Where a layout is computed from memory, it is not followed when that is read."""
        self._escape(self.points.layouts.get(buffer, ()))

    def _bind(self, stmt: tirx.Bind) -> None:
        if isinstance(stmt.var.ty, PointerType):
            self._evaluate_address(stmt.value)
        else:
            self._value(stmt.value)
            self._define(stmt.var, stmt.value)

    def _define(self, var: tirx.Var, value: tirx.Expr) -> None:
        is_other = var in self.trace.bound and not self.trace.bound[var].same_as(value)
        # What is bound twice is not known: a variable that nothing binds.
        self.trace.bound[var] = tirx.Var(var.name, var.ty) if is_other else value

    def _store(self, stmt: tirx.BufferStore) -> None:
        self._escape(self.points.memories_of(stmt.value))
        statement = self._new_statement(loads_first=True)
        self._read(statement, stmt.value, *stmt.indices)
        self._access(statement, stmt.buffer, stmt.indices, self.conditions, is_write=True)

    def _evaluate(self, stmt: tirx.Evaluate) -> None:
        call = self.calls.resolve(stmt.value) if isinstance(stmt.value, Call) else None
        if call is None or not self._call(call):
            self._value(stmt.value)

    def _return(self, stmt: tirx.Return) -> None:
        if stmt.value is not None:
            self._escape(self.points.memories_of(stmt.value))
            self._value(stmt.value)

    def _jump(self, stmt: tirx.Break | tirx.Continue) -> None:
        """What follows may not run; it is taken to."""

    def _assert(self, stmt: tirx.AssertStmt) -> None:
        self._read(self._new_statement(), stmt.condition)

    def _attribute(self, stmt: tirx.AttrStmt) -> None:
        call = intrinsic_call(stmt)
        if call is not None:
            self._pass(call)
        elif isinstance(stmt.value, tirx.Expr):
            self._read(self._new_statement(), stmt.value)
        if str(stmt.attr_key) in CONCURRENT_ATTRIBUTES:
            self._in_loop(TracedLoop(), stmt.body)
            return
        self.statement(stmt.body)
        if str(stmt.attr_key) in ASYNCHRONOUS_ATTRIBUTES:
            for var in nodes_of(stmt.body, tirx.Var):
                self._escape(self.points.of(var))

    def _pass(self, call: Call) -> None:
        """Note the addresses that an intrinsic is called with: its body says what is accessed."""
        statement = self._new_statement()
        for element in call.args:
            if not isinstance(element, TensorLoad) or element.source in self.registers:
                continue
            for address in self.points.element(element.source, [*element.indices]):
                access = TracedAccess(statement, address, 0, 0, False, self.conditions)
                self.trace.passed.setdefault(address.memory, []).append(access)

    def _branch(self, stmt: tirx.IfThenElse) -> None:
        self._read(self._new_statement(), stmt.condition)
        around = self.conditions
        self.conditions = (*around, (stmt.condition, True))
        self.statement(stmt.then_case)
        if stmt.else_case is not None:
            self.conditions = (*around, (stmt.condition, False))
            self.statement(stmt.else_case)
        self.conditions = around

    def _for(self, stmt: tirx.For) -> None:
        bounds = [stmt.min, stmt.extent, *([stmt.step] if stmt.step is not None else [])]
        loop = trace_loop(stmt, self.loops, self.trace.bound)
        if all(is_constant(bound) for bound in bounds):
            self._in_loop(loop, stmt.body)
            return
        # C evaluates the bounds again before every iteration.
        self._read(self._new_statement(), *bounds)
        self.loops.append(loop)
        self._read(self._new_statement(), *bounds)
        self.statement(stmt.body)
        self.loops.pop()

    def _while(self, stmt: tirx.While) -> None:
        self.loops.append(TracedLoop())
        self._read(self._new_statement(), stmt.condition)
        self.statement(stmt.body)
        self.loops.pop()

    def _in_loop(self, loop: TracedLoop, body: tirx.Stmt) -> None:
        self.loops.append(loop)
        self.statement(body)
        self.loops.pop()

    def _new_statement(self, loads_first: bool = False) -> TracedStatement:
        self.order += 1
        return TracedStatement(self.order, tuple(self.loops), loads_first)

    # ---- addresses

    def _evaluate_address(self, data: tirx.Expr) -> None:
        """Note what is read to compute a pointer; taking an address accesses nothing."""
        computed = address_of(data).computed
        if computed:
            self._read(self._new_statement(), *computed)

    def _escape(self, memories: Iterable[Memory]) -> None:
        self.trace.escaped.update(memories)

    # ---- accesses

    def _note(self, access: TracedAccess) -> None:
        if access.address.memory not in self.registers:
            self.trace.accesses.setdefault(access.address.memory, []).append(access)

    def _access(
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
            self._note(TracedAccess(statement, address, 0, size, is_write, conditions))

    def _anywhere(self, statement: TracedStatement, var: tirx.Var, access: Access) -> None:
        """The address of `var` is given away: all of its memory may be accessed."""
        for memory in self.points.of(var):
            everywhere = Address(memory, None)
            self._note(TracedAccess(statement, everywhere, 0, 0, access.may_write, ()))

    def _call(self, call: PrimFuncCall) -> bool:
        """Note what a call of a PrimFunc accesses; False if its arguments are not followed."""
        callee = self.callees[call.callee]
        if len(call.arguments) != len(callee.params):
            return False
        for argument in call.arguments:
            self._evaluate_address(argument)
        self.order += 1
        statement = TracedStatement(self.order, tuple(self.loops), callee=call.callee)
        arguments = [self.points.addresses_of(argument) for argument in call.arguments]
        for param, addresses in zip(callee.params, arguments, strict=True):
            if param in callee.escaped:
                self._escape(address.memory for address in addresses)
            for address in addresses:
                self._reach(statement, address, param, callee)
        for memory in callee.allocated:
            self.trace.allocated.add(memory)
            self._reach(statement, Address(memory), memory, callee)
        self._escape(callee.escaped & callee.allocated)
        return True

    def _value(self, expr: tirx.Expr) -> None:
        """Note what an expression accesses that is all that a statement evaluates."""
        stated = stated_kernel(expr, self.kernels, self.name)
        if stated is None:
            self._read(self._new_statement(), expr)
            return
        kernel, call = stated
        passed = call.args[1:]
        first, rest = passed[: len(kernel.params)], passed[len(kernel.params) :]
        for argument in first:
            self._evaluate_address(argument)
        # Of what is passed besides nothing is known: it may be accessed before and after.
        self._read(self._new_statement(), *rest)
        self.order += 1
        statement = TracedStatement(self.order, tuple(self.loops), callee=kernel.key)
        for param, argument, known in zip(
            kernel.params, first, kernel.kernel.arguments, strict=True
        ):
            if known.reads or known.writes:
                for address in self._stated_addresses(argument):
                    self._note(
                        TracedAccess(
                            statement,
                            address,
                            0,
                            int(known.size_bytes),
                            bool(known.writes),
                            self.conditions,
                            param,
                        )
                    )
        self._read(self._new_statement(), *rest)

    def _stated_addresses(self, argument: tirx.Expr) -> tuple[Address, ...]:
        """The addresses that are passed; a `tvm_access_ptr` without an offset is its pointer."""
        if is_op(argument, "tirx.tvm_access_ptr") and _is_zero(argument.args[2]):
            argument = argument.args[1]
        return self.points.addresses_of(argument)

    def _reach(
        self, statement: TracedStatement, address: Address, memory: Memory, callee: CalleeReach
    ) -> None:
        """Note what a call does to `memory` of the callee, which is at `address`."""
        reach = callee.reach.get(memory)
        if reach is not None:
            is_write = reach.written_end > -UNBOUNDED
            first, end = reach.first, reach.written_end
            conditions = self.conditions
            self._note(TracedAccess(statement, address, first, end, is_write, conditions, memory))

    def _read(self, statement: TracedStatement, *exprs: tirx.Expr) -> None:
        """Note everything that `exprs` read, and what may be accessed through addresses in them."""
        pending: list[tuple[tirx.Expr, tuple[Condition, ...]]] = [
            (expr, self.conditions) for expr in exprs
        ]
        while pending:
            expr, conditions = pending.pop()
            if not is_constant(expr):
                pending += self._read_one(statement, expr, conditions)

    def _read_one(
        self, statement: TracedStatement, expr: tirx.Expr, conditions: tuple[Condition, ...]
    ) -> list[tuple[tirx.Expr, tuple[Condition, ...]]]:
        """Note what `expr` reads, but for the parts that are returned, with their conditions."""
        parts: list[tuple[tirx.Expr, tuple[Condition, ...]]] = []
        skip, advance = tvm_ffi.WalkResult.SKIP, tvm_ffi.WalkResult.ADVANCE

        def choose(condition: tirx.Expr, a: tirx.Expr, b: tirx.Expr) -> tvm_ffi.WalkResult:
            parts.append((condition, conditions))
            parts.append((a, (*conditions, (condition, True))))
            parts.append((b, (*conditions, (condition, False))))
            return skip

        def on_select(select: tirx.Select) -> tvm_ffi.WalkResult:
            return choose(select.condition, select.true_value, select.false_value)

        def on_load(load: TensorLoad) -> tvm_ffi.WalkResult:
            self._access(statement, load.source, load.indices, conditions, is_write=False)
            parts.extend((index, conditions) for index in load.indices)
            return skip

        def on_let(let: tirx.Let) -> tvm_ffi.WalkResult:
            self._define(let.var, let.value)
            return advance

        def on_call(call: Call) -> tvm_ffi.WalkResult:
            if is_op(call, "prim.if_then_else"):
                return choose(*call.args)
            declared = declared_access(call)
            if declared is not None:
                address = address_of(call)
                for base in address.bases:
                    self._anywhere(statement, base, declared)
                parts.extend((part, conditions) for part in address.computed)
                return skip
            if is_op(call, "tirx.address_of") and isinstance(call.args[0], TensorLoad):
                self._anywhere(statement, call.args[0].source, Access.UNKNOWN)
                parts.extend((index, conditions) for index in call.args[0].indices)
                return skip
            keeps = isinstance(call.op, Op) and call.op.name in KEEP_A_POINTER
            called = self.calls.resolve(call)
            if called is not None:
                allocated = self.callees[called.callee].allocated
                self.trace.allocated |= allocated
                self._escape(allocated)
            if keeps or called is not None:
                # A call that is a part of an expression is not followed.
                for var in nodes_of(call, tirx.Var):
                    self._escape(self.points.of(var))
            return advance

        def on_variable(var: tirx.Var) -> tvm_ffi.WalkResult:
            self._anywhere(statement, var, Access.UNKNOWN)
            return skip

        callbacks: ExprCallbacks = {
            tirx.Select: on_select,
            TensorLoad: on_load,
            tirx.Let: on_let,
            Call: on_call,
            tirx.Var: on_variable,
        }
        walk_expressions([expr], callbacks)
        return parts


def _is_zero(expr: tirx.Expr) -> bool:
    return isinstance(expr, tirx.IntImm) and int(expr) == 0
