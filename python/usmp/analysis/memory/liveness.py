"""When is each allocation of a PrimFunc, and of everything that it calls, in use?

A PrimFunc is walked once. Every statement that can touch memory gets the next program position; a
call of another PrimFunc takes as many positions as that PrimFunc has, so the whole program is
numbered as if all calls were inlined. The result is a `FunctionLiveness`: for each parameter and
for each allocation the positions between its first and its last access. All rules lean to the
safe side: what is not understood counts as an access, and what escapes lives until the end. Noted
beside it is which PrimFunc reads or writes what, and how often (see `access_counts`).

RFC 0009, "Step 2"; the wrong-code cases of the original implementation are in the tests.
"""

from __future__ import annotations

from collections.abc import Mapping

from tvm import tirx
from tvm.ir import PointerType

from usmp.analysis.memory.access import Access, MemoryUse
from usmp.analysis.memory.addresses import address_of
from usmp.analysis.memory.calls import CallResolver
from usmp.analysis.memory.effects import ASYNCHRONOUS_ATTRIBUTES, CONCURRENT_ATTRIBUTES
from usmp.analysis.memory.expression_walk import ExpressionWalk
from usmp.analysis.memory.function_liveness import (
    FunctionLiveness,
    PositionRange,
    StatementLiveness,
)
from usmp.analysis.memory.memories import Memory
from usmp.analysis.memory.points_to import PointsTo
from usmp.analysis.memory.stated_kernel import StatedKernel
from usmp.analysis.memory.trip_count import UNKNOWN_TRIP_COUNT, trip_count
from usmp.analysis.memory.walk_state import Loop, Outermost
from usmp.tir.tensor_intrin import intrinsic_call


def walk_liveness(
    name: str,
    calls: CallResolver,
    points: PointsTo,
    callees: Mapping[str, FunctionLiveness],
    kernels: Mapping[str, StatedKernel],
) -> FunctionLiveness:
    """The liveness of a PrimFunc with everything that it calls.

    Parameters
    ----------
    name
        of the PrimFunc.
    calls
        has it, and those that it may call.
    points
        what its variables point to.
    callees
        the liveness of those that it calls, by name.
    kernels
        the functions outside of the module that state what they do, by symbol.

    Raises
    ------
    ValueError
        TIR that is not flat; a kernel that is called with less arguments than it states.
    """
    return _Walk(name, calls, points, callees, kernels).run()


class _Walk(ExpressionWalk):
    """One walk over one PrimFunc, whose callees are finished."""

    def run(self) -> FunctionLiveness:
        """Walk the body, and note what each parameter and allocation has seen."""
        for stmt in tirx.stmt_list(self.func.body):
            self.current = Outermost(stmt, self.position)
            self.statements.append(self.current)
            self.statement(stmt)
        length = max(self.position, 1)
        ranges = self._ranges(length)
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

    def _ranges(self, length: int) -> dict[Memory, PositionRange]:
        """From the first to the last access of each memory; what escapes is always accessed."""
        found: dict[Memory, PositionRange] = {}
        for statement in self.statements:
            for memory, (start, stop) in statement.ranges.items():
                # Statements follow each other, so this one ends last.
                found[memory] = (found.get(memory, (start, stop))[0], stop)
        return found | {m: (0, length) for m, state in self.memories.items() if state.escaped}

    def _allocate(self, stmt: tirx.AllocBuffer) -> None:
        self.functions.setdefault(stmt, self.name)
        self.current.allocations.setdefault(stmt, [])
        self.current.allocated.append(stmt.buffer)
        self.allocations.setdefault(stmt, [])
        state, depth = self.memories[stmt.buffer], len(self.loops)
        # It may be allocated elsewhere in the text too.
        state.loop_depth = min(state.loop_depth, depth) if state.allocations else depth
        if stmt not in state.allocations:
            state.allocations.append(stmt)
        self._lay_out(stmt.buffer)
        if any(loop.concurrent for loop in self.loops):
            self.unplannable.add(stmt)

    def _declare(self, stmt: tirx.DeclBuffer) -> None:
        address = address_of(stmt.data)
        if address.computed:
            self.use(*address.computed)
        self._lay_out(stmt.buffer)

    def _lay_out(self, buffer: tirx.Var) -> None:
        """What the layout of a buffer depends on is read now, and again at every access."""
        layout = self.points.layouts.get(buffer)
        if layout:
            self._touch_all(dict.fromkeys(layout, Access.READ))

    def _bind(self, stmt: tirx.Bind) -> None:
        if not isinstance(stmt.value.ty, PointerType):
            self.use(stmt.value)
            return
        address = address_of(stmt.value)
        if address.computed:
            self.use(*address.computed)

    def _store(self, stmt: tirx.BufferStore) -> None:
        self._escape(stmt.value)
        buffer = self.points.known(stmt.buffer)
        if buffer is not None:
            self._move(buffer, Access.WRITE, stmt.value.ty)
        self.use(stmt.value, *stmt.indices, written=buffer)

    def _evaluate(self, stmt: tirx.Evaluate) -> None:
        self.use(stmt.value)

    def _return(self, stmt: tirx.Return) -> None:
        if stmt.value is not None:
            self._escape(stmt.value)
            self.use(stmt.value)

    def _jump(self, stmt: tirx.Break | tirx.Continue) -> None:
        """Positions follow the text, not the jumps; a loop's iterations are joined anyway."""

    def _assert(self, stmt: tirx.AssertStmt) -> None:
        self.use(stmt.condition)

    def _attribute(self, stmt: tirx.AttrStmt) -> None:
        if isinstance(stmt.value, tirx.Expr) and intrinsic_call(stmt) is None:
            self.use(stmt.value)
        if str(stmt.attr_key) in CONCURRENT_ATTRIBUTES:
            self._loop([], stmt.body, Loop(self.position, concurrent=True))
        elif str(stmt.attr_key) in ASYNCHRONOUS_ATTRIBUTES:
            for memory in self._loop([], stmt.body, Loop(self.position, concurrent=False)):
                self.memories[memory].escaped = True
        else:
            self.statement(stmt.body)

    def _branch(self, stmt: tirx.IfThenElse) -> None:
        self.use(stmt.condition)
        self.statement(stmt.then_case)
        if stmt.else_case is not None:
            self.statement(stmt.else_case)

    def _for(self, stmt: tirx.For) -> None:
        # C evaluates the bounds again before every iteration.
        bounds = [stmt.min, stmt.extent, *([stmt.step] if stmt.step is not None else [])]
        trips = trip_count(stmt, [loop.stmt for loop in self.loops if loop.stmt is not None])
        concurrent = stmt.kind != tirx.ForKind.SERIAL
        self._loop(bounds, stmt.body, Loop(self.position, concurrent, trips, stmt))

    def _while(self, stmt: tirx.While) -> None:
        loop = Loop(self.position, concurrent=False, trips=UNKNOWN_TRIP_COUNT)
        self._loop([stmt.condition], stmt.body, loop)

    def _loop(self, head: list[tirx.Expr], body: tirx.Stmt, loop: Loop) -> set[Memory]:
        """Any iteration may follow any other: what exists before the loop and is touched in it
        lives through the whole loop. Returns what is touched."""
        times = self.times
        self.loops.append(loop)
        self.times = times * (loop.trips + 2)  # also the start, and the test that ends the loop
        if head:
            self.use(*head)
        self.times = times * loop.trips
        self.statement(body)
        self.times = times
        self.loops.pop()
        for memory in loop.touched:
            if self.memories[memory].loop_depth <= len(self.loops):
                self._touch(memory, loop.start, self.position)
        return loop.touched


def _finished(statement: Outermost) -> StatementLiveness:
    return StatementLiveness(
        statement.stmt,
        statement.start,
        statement.ranges,
        {memory: access for memory, access in statement.accesses.items() if access},
        statement.allocated,
        statement.allocations,
    )
