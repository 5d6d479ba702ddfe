"""Liveness of the allocations of a PrimFunc and of its callees.

This is a fold over the memory events of a PrimFunc. Each evaluation gets the next program position.
A call of a PrimFunc takes as many positions as the callee has, so that positions are those of a
program with all calls inlined. A live range extends from the first to the last access of a
parameter or allocation. All rules are conservative: unknown operations count as accesses, and a
memory whose address escapes is always live. The fold also counts accesses (see `access_counts`).

See RFC 0009 of apache/tvm-rfcs, "Step 2", and RFC 0032 of this repository. The tests have the cases
where TVM's original USMP produced wrong code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import tvm_ffi
from tvm import tirx
from tvm.ir import PrimType

from usmp.analysis.memory.access import Access, MemoryUse, Movement, declared_access
from usmp.analysis.memory.addresses import address_of, is_constant
from usmp.analysis.memory.calls import CallResolver
from usmp.analysis.memory.function_liveness import (
    FunctionLiveness,
    PositionRange,
    StatementLiveness,
)
from usmp.analysis.memory.memories import Memory
from usmp.analysis.memory.points_to import PointsTo
from usmp.analysis.memory.stated_kernel import stated_access
from usmp.analysis.memory.trip_count import UNKNOWN_TRIP_COUNT, trip_count
from usmp.analysis.memory.walk.events import (
    CallFunction,
    CallKernel,
    Declare,
    Enter,
    Evaluation,
    EvaluationPart,
    Event,
    Keep,
    Leave,
    Load,
    Outermost,
    Pass,
    Region,
)
from usmp.analysis.memory.walk.walk_state import Loop, MemoryState, Statement
from usmp.support.reachable import reachable
from usmp.tir.dtypes import item_bytes


def fold_liveness(
    name: str,
    events: Sequence[Event],
    calls: CallResolver,
    points: PointsTo,
    callees: Mapping[str, FunctionLiveness],
) -> FunctionLiveness:
    """Return the liveness of a PrimFunc with its callees.

    Parameters
    ----------
    name
        name of the PrimFunc.
    events
        its memory events.
    calls
        a resolver that knows the PrimFunc and its callees.
    points
        the memories that its variables point to.
    callees
        the liveness of its callees, by name.
    """
    return _Fold(name, calls, points, callees).over(events)


class _Fold:
    """The state of the fold: the liveness of a PrimFunc after some of its events."""

    current: Statement
    """The top-level statement that contains the current event."""

    def __init__(
        self,
        name: str,
        calls: CallResolver,
        points: PointsTo,
        callees: Mapping[str, FunctionLiveness],
    ) -> None:
        self.name = name
        self.calls = calls
        self.func = calls.functions[name]
        self.points = points
        self.callees = callees
        self.position = 0
        self.loops: list[Loop] = []
        self.times = 1
        """Executions of the current statement in one call; an upper bound for known trip counts."""
        self.memories = {memory: MemoryState() for memory in points.memories}
        self.allocations: dict[tirx.AllocBuffer, list[PositionRange]] = {}
        self.allocation_use: dict[tirx.AllocBuffer, MemoryUse] = {}
        self.functions: dict[tirx.AllocBuffer, str] = {}
        self.unplannable: set[tirx.AllocBuffer] = set()
        self.passed: set[tirx.Var] = set()
        self.written: set[tirx.Var] = set()
        self.statements: list[Statement] = []

    def over(self, events: Sequence[Event]) -> FunctionLiveness:
        """Fold over all events, and return the liveness."""
        for event in events:
            if isinstance(event, Evaluation):
                self.evaluate(event)
            elif isinstance(event, Outermost):
                self.current = Statement(event.stmt, self.position)
                self.statements.append(self.current)
            elif isinstance(event, Declare):
                self.declare(event.stmt)
            elif isinstance(event, Enter):
                self.enter(event.region, event.head)
            elif isinstance(event, Leave):
                self.leave(event.region)
        return self.found()

    def found(self) -> FunctionLiveness:
        """Return the liveness after all events."""
        length = max(self.position, 1)
        ranges = self.ranges(length)
        for memory, state in self.memories.items():
            for stmt in state.allocations:
                if memory in ranges:
                    self.allocations[stmt].append(ranges[memory])
                self.allocation_use.setdefault(stmt, MemoryUse()).add_call(state.use)
        params = [(index, p, self.memories[p]) for index, p in enumerate(self.func.params)]
        return FunctionLiveness(
            length,
            {index: ranges[memory] for index, memory, _ in params if memory in ranges},
            {index: state.use for index, _, state in params},
            {index for index, _, state in params if state.escaped},
            self.allocations,
            self.allocation_use,
            self.functions,
            self.unplannable,
            {memory for memory, state in self.memories.items() if state.escaped},
            [_finished(statement) for statement in self.statements],
            self.passed,
            self.written,
        )

    def ranges(self, length: int) -> dict[Memory, PositionRange]:
        """Return the live range of each memory: first to last access, or all if it escapes."""
        hulls: dict[Memory, PositionRange] = {}
        for statement in self.statements:
            for memory, (start, stop) in statement.ranges.items():
                # Statements are in program order, so this stop is the largest until now.
                hulls[memory] = (hulls.get(memory, (start, stop))[0], stop)
        return hulls | {m: (0, length) for m, state in self.memories.items() if state.escaped}

    # ---- statements

    def declare(self, stmt: tirx.AllocBuffer | tirx.DeclBuffer | tirx.Bind) -> None:
        if isinstance(stmt, tirx.AllocBuffer):
            self.allocate(stmt)
        if not isinstance(stmt, tirx.Bind):
            # Variables in the layout of a buffer are read here, and again at every access.
            layout = self.points.layouts.get(stmt.buffer)
            if layout:
                self.touch_all(dict.fromkeys(layout, Access.READ))

    def allocate(self, stmt: tirx.AllocBuffer) -> None:
        self.functions.setdefault(stmt, self.name)
        self.current.allocations.setdefault(stmt, [])
        self.current.allocated.append(stmt.buffer)
        self.allocations.setdefault(stmt, [])
        state, depth = self.memories[stmt.buffer], len(self.loops)
        # Take the minimum, because a buffer may be allocated at several positions.
        state.loop_depth = min(state.loop_depth, depth) if state.allocations else depth
        if stmt not in state.allocations:
            state.allocations.append(stmt)
        if any(loop.region.concurrent for loop in self.loops):
            self.unplannable.add(stmt)

    def enter(self, region: Region, head: Evaluation) -> None:
        if region.is_plain:
            return
        outside = [loop.region.stmt for loop in self.loops]
        self.loops.append(Loop(region, self.position, self.times))
        if region.repeats:
            trips = UNKNOWN_TRIP_COUNT
            if isinstance(region.stmt, tirx.For):
                loops = [stmt for stmt in outside if isinstance(stmt, tirx.For)]
                trips = trip_count(region.stmt, loops)
            times = self.times
            # C evaluates the start once, and the test before each iteration and once at the end.
            self.times = times * (trips + 2)
            self.evaluate(head)
            self.times = times * trips

    def leave(self, region: Region) -> None:
        """Make memories that a region accesses, but does not allocate, live in the whole region.

        This is necessary because any run of the body may follow any other."""
        if region.is_plain:
            return
        loop = self.loops.pop()
        self.times = loop.times
        for memory in loop.touched:
            state = self.memories[memory]
            if state.loop_depth <= len(self.loops):
                self.touch(memory, loop.start, self.position)
            # An asynchronous body may access the memory after the statement.
            state.escaped |= region.asynchronous

    # ---- expressions

    def evaluate(self, evaluation: Evaluation) -> None:
        """Record the accesses of an evaluation at the next position, and again after its calls."""
        calls: list[CallFunction] = []
        mentioned: dict[Memory, Access] = {}
        store = evaluation.store
        if store is not None:
            self.move(store.buffer, Access.WRITE, store.value)
        self.take(evaluation.parts, mentioned, calls)
        if store is not None:
            self.mention(mentioned, store.buffer, Access.WRITE)
        if len(calls) == 1 and not mentioned:
            self.splice(calls[0])
            return
        if calls:
            # C leaves the order of evaluation open, so all memory that any part may access,
            # arguments of calls included, is live through all calls.
            exprs = [expr for expr in evaluation.exprs if not is_constant(expr)]
            on_any = (tirx.Var, lambda var: self.mention(mentioned, var, Access.NONE))
            tvm_ffi.structural_walk(exprs, on_any, order="pre")
        self.touch_all(mentioned)
        for call in calls:
            self.splice(call)
        if calls:
            self.touch_all(mentioned)

    def take(
        self,
        parts: Iterable[EvaluationPart],
        mentioned: dict[Memory, Access],
        calls: list[CallFunction],
    ) -> None:
        """Collect the memories that parts of an evaluation access, and their calls of PrimFuncs."""
        for part in parts:
            if isinstance(part, Load):
                self.move(part.buffer, Access.READ, part.value)
                self.mention(mentioned, part.buffer, Access.READ)
            elif isinstance(part, Pass):
                self.move(part.pointer, part.access)
                self.mention(mentioned, part.pointer, part.access)
                self.passed.add(part.pointer)
            elif isinstance(part, CallFunction):
                calls.append(part)
            elif isinstance(part, CallKernel):
                self.call_kernel(part, mentioned)
                self.take(part.computed.parts, mentioned, calls)
                self.take(part.rest.parts, mentioned, calls)
            elif isinstance(part, Keep):
                self.keep(part.pointers)

    def call_kernel(self, call: CallKernel, mentioned: dict[Memory, Access]) -> None:
        arguments = call.kernel.kernel.arguments
        for argument, known in zip(call.node.args[1:], arguments, strict=False):
            bases, access = address_of(argument).bases, stated_access(known)
            for base in bases:
                self.mention(mentioned, base, access)
                self.move(base, access)
                self.passed.add(base)
            if declared_access(argument) != Access.READ:
                self.keep_type(bases)

    def mention(self, mentioned: dict[Memory, Access], var: tirx.Var, access: Access) -> None:
        known = self.points.known(var)
        if known is None:
            return
        for memory in self.points.memories_behind[known]:
            mentioned[memory] = mentioned.get(memory, Access.NONE) | access
            self.note(known, access)
        for memory in self.points.layouts.get(known, ()):
            mentioned[memory] = mentioned.get(memory, Access.NONE) | Access.READ

    def move(self, var: tirx.Var, access: Access, value: PrimType | None = None) -> None:
        """Count a load or store of one value of type `value`; None means the whole memory."""
        known = self.points.known(var)
        memories = () if known is None else self.points.memories_behind[known]
        if known is None or not memories:
            return
        sizes = (1, 0)
        if value is not None:
            sizes = self.points.element_bytes(known), item_bytes(str(value.dtype))
        movement = Movement(self.name, access, *sizes)
        for memory in memories:
            self.memories[memory].use.movements[movement] += self.times

    def touch_all(self, accesses: dict[Memory, Access]) -> None:
        for memory, access in accesses.items():
            self.touch(memory, self.position, self.position + 1)
            if access:
                self.memories[memory].use.add(self.name, access)
                self.current.access(memory, access)
        self.position += 1

    def note(self, var: tirx.Var, access: Access) -> None:
        """Record an access to memory through a variable."""
        if access.may_write:
            self.written.add(var)
        if access & Access.UNKNOWN:
            self.passed.add(var)

    def keep(self, pointers: Iterable[tirx.Var]) -> None:
        """Let the memories behind these pointers escape."""
        for base in pointers:
            self.note(base, Access.UNKNOWN)
            for memory in self.points.memories_behind.get(base, ()):
                self.memories[memory].escaped = True
                self.memories[memory].use.add(self.name, Access.UNKNOWN)
                self.current.access(memory, Access.UNKNOWN)

    def keep_type(self, pointers: Iterable[tirx.Var]) -> None:
        """Record pointers that a callee only reads, although C declares its parameter as writable.

        The C declaration of a kernel does not depend on the accesses that are stated."""
        sources = self.points.sources
        self.written.update(reachable(pointers, lambda pointer: sources.get(pointer, ())))

    def splice(self, called: CallFunction) -> None:
        """Insert the liveness of a called PrimFunc at this position, after its arguments."""
        call = called.call
        callee, params = self.callees[call.callee], self.calls.functions[call.callee].params
        if called.computed.exprs:
            self.evaluate(called.computed)
        start = self.position
        self.position += callee.length
        for index, argument in enumerate(call.arguments):
            bases = address_of(argument).bases
            if index in callee.parameter_use:
                positions, use = callee.parameters.get(index), callee.parameter_use[index]
            else:
                positions, use = (0, callee.length), MemoryUse.unknown(call.callee)
            access = use.access
            for base in bases:
                self.passed.add(base)
                self.note(base, access)
            is_typed = index < len(params) and params[index] in callee.written
            if is_typed and not access.may_write:
                self.keep_type(bases)
            for memory in self.points.behind_all(bases):
                state = self.memories[memory]
                if positions is not None:
                    self.touch(memory, start + positions[0], start + positions[1])
                state.use.add_call(use, self.times)
                self.current.access(memory, access)
                state.escaped |= index in callee.escaped_parameters
        self.splice_allocations(callee, start)

    def splice_allocations(self, callee: FunctionLiveness, start: int) -> None:
        """Add the allocations of a callee that begins at a position."""
        # Concurrent or asynchronous calls may use their allocations at the same time.
        stays = any(loop.region.concurrent or loop.region.asynchronous for loop in self.loops)
        for stmt, ranges in callee.allocations.items():
            shifted = [(start + low, start + high) for low, high in ranges]
            self.allocations.setdefault(stmt, []).extend(shifted)
            self.current.allocations.setdefault(stmt, []).extend(shifted)
            self.functions.setdefault(stmt, callee.functions[stmt])
            use = callee.allocation_use[stmt]
            self.allocation_use.setdefault(stmt, MemoryUse()).add_call(use, self.times)
            if stays or stmt in callee.unplannable:
                self.unplannable.add(stmt)

    def touch(self, memory: Memory, start: int, stop: int) -> None:
        self.current.touch(memory, start, stop)
        for loop in self.loops:
            loop.touched.add(memory)


def _finished(statement: Statement) -> StatementLiveness:
    return StatementLiveness(
        statement.stmt,
        statement.start,
        statement.ranges,
        {memory: access for memory, access in statement.accesses.items() if access},
        statement.allocated,
        statement.allocations,
    )
