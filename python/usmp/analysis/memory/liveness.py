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

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar

import tvm_ffi
from tvm import tirx
from tvm.ir import Call, Op, PointerType, PrimType, TensorLoad

from usmp.analysis.memory.access import Access, MemoryUse, Movement, declared_access, item_bytes
from usmp.analysis.memory.addresses import address_of, is_constant, is_op
from usmp.analysis.memory.calls import CallResolver, PrimFuncCall
from usmp.analysis.memory.effects import (
    ASYNCHRONOUS_ATTRIBUTES,
    CONCURRENT_ATTRIBUTES,
    KEEP_A_POINTER,
)
from usmp.analysis.memory.function_liveness import (
    FunctionLiveness,
    Piece,
    Span,
    StatementLiveness,
)
from usmp.analysis.memory.memory_root import Loop, Outermost, Root, Roots
from usmp.analysis.memory.statement_walk import StatementWalk
from usmp.analysis.memory.trip_count import UNKNOWN_TRIP_COUNT, trip_count


def walk_liveness(
    name: str, calls: CallResolver, callees: Mapping[str, FunctionLiveness]
) -> FunctionLiveness:
    """The liveness of a PrimFunc with everything that it calls.

    Parameters
    ----------
    name: of the PrimFunc.
    calls: has it, and those that it may call.
    callees: the liveness of those that it calls, by name.

    Raises
    ------
    ValueError: TIR that is not flat.
    """
    return _Walk(name, calls, callees).run()


class _Walk(StatementWalk):
    """One walk over one PrimFunc, whose callees are finished."""

    def __init__(
        self, name: str, calls: CallResolver, callees: Mapping[str, FunctionLiveness]
    ) -> None:
        super().__init__(name)
        self.calls = calls
        self.callees = callees
        self.func = calls.functions[name]
        self.position = 0
        self.loops: list[Loop] = []
        self.times = 1
        """How often the current statement runs in one call, at the most."""
        self.pointers: dict[tirx.Var, Roots] = {}
        """What the memory behind each buffer or pointer variable may be."""
        self.layouts: dict[tirx.Var, Roots] = {}
        """What is read to find an element of a buffer: its shape, strides or offset say so."""
        self.allocations: dict[tirx.AllocBuffer, list[Span]] = {}
        self.allocation_use: dict[tirx.AllocBuffer, MemoryUse] = {}
        self.functions: dict[tirx.AllocBuffer, str] = {}
        self.unplannable: set[tirx.AllocBuffer] = set()
        self.statements: list[Outermost] = []
        self.roots: list[Root] = []
        for index, param in enumerate(self.func.params):
            root = Root(index, loop_depth=0, index=index)
            self.roots.append(root)
            self.pointers[param] = frozenset([root])

    def run(self) -> FunctionLiveness:
        """Walk the body, and note what each parameter and allocation has seen."""
        for stmt in tirx.stmt_list(self.func.body):
            self.current = Outermost(stmt, self.position)
            self.statements.append(self.current)
            self.statement(stmt)
        length = max(self.position, 1)
        spans = self._spans(length)
        for root in self.roots:
            if root.stmt is not None:
                if root in spans:
                    self.allocations[root.stmt].append(spans[root])
                # One AllocBuffer may stand in two places of the text.
                self.allocation_use.setdefault(root.stmt, MemoryUse()).add_call(root.use)
        params = [root for root in self.roots if root.index is not None]
        return FunctionLiveness(
            len(params),
            length,
            {root.number: spans[root] for root in params if root in spans},
            {root.number: root.use for root in params},
            {root.number for root in params if root.escapes},
            self.allocations,
            self.allocation_use,
            self.functions,
            self.unplannable,
            [Piece(root.index, root.stmt, root.escapes) for root in self.roots],
            [_finished(statement) for statement in self.statements],
            bool(self.layouts),
        )

    def _spans(self, length: int) -> dict[Root, Span]:
        """From the first to the last access of each piece of memory; what escapes is accessed at
        any time."""
        found: dict[Root, Span] = {}
        for statement in self.statements:
            for root, (start, stop) in statement.spans.items():
                # Statements follow each other, so this one ends last.
                found[root] = (found.get(root, (start, stop))[0], stop)
        return found | {root: (0, length) for root in self.roots if root.escapes}

    # ---- statements

    def _allocate(self, stmt: tirx.AllocBuffer) -> None:
        self.allocations.setdefault(stmt, [])
        self.functions.setdefault(stmt, self.name)
        self.current.allocations.setdefault(stmt, [])
        root = Root(len(self.roots), loop_depth=len(self.loops), stmt=stmt)
        self.roots.append(root)
        self.current.roots.append(root)
        self.pointers[stmt.buffer] = frozenset([root])
        self._lay_out(stmt.buffer, [])
        if any(loop.concurrent for loop in self.loops):
            self.unplannable.add(stmt)

    def _declare(self, stmt: tirx.DeclBuffer) -> None:
        address = address_of(stmt.data)
        if address.computed:
            self.use(*address.computed)
        self.pointers[stmt.buffer] = self._roots(address.bases)
        self._lay_out(stmt.buffer, address.bases)

    def _lay_out(self, buffer: tirx.Var, bases: Iterable[tirx.Var]) -> None:
        """Note what the layout of `buffer`, a view of `bases`, depends on; it is read now, and
        again at every access."""
        layout = [*buffer.shape, *buffer.strides, buffer.elem_offset]
        loaded = [part for part in layout if part is not None and not is_constant(part)]
        roots = {root for base in bases for root in self.layouts.get(base, ())}
        if loaded:

            def on_variable(var: tirx.Var) -> None:
                roots.update(self.pointers.get(var, ()))

            tvm_ffi.structural_walk(loaded, (tirx.Var, on_variable))
        if roots:
            self.layouts[buffer] = frozenset(roots)
            self._touch_all(dict.fromkeys(roots, Access.READ))

    def _bind(self, stmt: tirx.Bind) -> None:
        address = address_of(stmt.value)
        if not isinstance(stmt.value.ty, PointerType):
            self.use(stmt.value)
        elif address.computed:
            self.use(*address.computed)
        self.pointers[stmt.var] = self._roots(address.bases)

    def _store(self, stmt: tirx.BufferStore) -> None:
        self._escape(stmt.value)
        self._move(stmt.buffer, Access.WRITE, stmt.value.ty)
        self.use(stmt.value, *stmt.indices, written=stmt.buffer)

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
        if isinstance(stmt.value, tirx.Expr):
            self.use(stmt.value)
        if str(stmt.attr_key) in CONCURRENT_ATTRIBUTES:
            self._loop([], stmt.body, Loop(self.position, concurrent=True))
        elif str(stmt.attr_key) in ASYNCHRONOUS_ATTRIBUTES:
            for root in self._loop([], stmt.body, Loop(self.position, concurrent=False)):
                root.escapes = True
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

    def _loop(self, head: list[tirx.Expr], body: tirx.Stmt, loop: Loop) -> set[Root]:
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
        for root in loop.touched:
            if root.loop_depth <= len(self.loops):
                self._touch(root, loop.start, self.position)
        return loop.touched

    _STATEMENTS: ClassVar[dict[type, Callable[..., None]]] = {
        tirx.SeqStmt: StatementWalk.sequence,
        tirx.AllocBuffer: _allocate,
        tirx.DeclBuffer: _declare,
        tirx.Bind: _bind,
        tirx.BufferStore: _store,
        tirx.Evaluate: _evaluate,
        tirx.Return: _return,
        tirx.Break: _jump,
        tirx.Continue: _jump,
        tirx.AssertStmt: _assert,
        tirx.AttrStmt: _attribute,
        tirx.IfThenElse: _branch,
        tirx.For: _for,
        tirx.While: _while,
    }

    # ---- expressions

    def use(self, *exprs: tirx.Expr, written: tirx.Var | None = None) -> None:
        """Everything that `exprs` mention is accessed at the next position; calls follow it, and
        then the buffer `written` is stored to."""
        calls: list[PrimFuncCall] = []
        mentioned: dict[Root, Access] = {}
        loads: Counter[tirx.Var] = Counter()
        addressed: list[TensorLoad] = []

        def mention(var: tirx.Var, access: Access) -> None:
            for root in self.pointers.get(var, ()):
                mentioned[root] = mentioned.get(root, Access.NONE) | access
            for root in self.layouts.get(var, ()):
                mentioned[root] = mentioned.get(root, Access.NONE) | Access.READ

        def on_call(call: Call) -> tvm_ffi.WalkResult:
            callee = self.calls.resolve(call)
            if callee is not None:
                calls.append(callee)
                return tvm_ffi.WalkResult.SKIP
            if is_op(call, "tirx.address_of") and isinstance(call.args[0], TensorLoad):
                mention(call.args[0].source, Access.UNKNOWN)
                self._move(call.args[0].source, Access.UNKNOWN)
                addressed.append(call.args[0])
            declared = declared_access(call)
            if declared is not None:
                address = address_of(call)
                for base in address.bases:
                    mention(base, declared)
                    self._move(base, declared)
                if address.computed:
                    tvm_ffi.structural_walk(address.computed, callbacks, order="pre")
                return tvm_ffi.WalkResult.SKIP
            if isinstance(call.op, Op) and call.op.name in KEEP_A_POINTER:
                self._escape(call)
            return tvm_ffi.WalkResult.ADVANCE

        def on_load(load: TensorLoad) -> None:
            loads[load.source] += 1
            if not addressed or not addressed.pop().same_as(load):
                self._move(load.source, Access.READ, load.ty)

        def on_variable(var: tirx.Var) -> tvm_ffi.WalkResult:
            # The walk comes to the source of each load once; any other mention is the pointer.
            is_load = loads[var] > 0
            loads[var] -= is_load
            mention(var, Access.READ if is_load else Access.UNKNOWN)
            if not is_load:
                self._move(var, Access.UNKNOWN)
            return tvm_ffi.WalkResult.SKIP

        # One walk for all, since starting one costs more than what it visits.
        walked = [expr for expr in exprs if not is_constant(expr)]
        callbacks = [(Call, on_call), (TensorLoad, on_load), (tirx.Var, on_variable)]
        if walked:
            tvm_ffi.structural_walk(walked, callbacks, order="pre")
        if written is not None:
            mention(written, Access.WRITE)
        if len(calls) == 1 and not mentioned:
            self._splice(calls[0])
            return
        if calls:
            # C leaves the order of evaluation open: whatever any part may access, arguments of
            # calls too, lives through all calls.
            on_any = (tirx.Var, lambda var: mention(var, Access.NONE))
            tvm_ffi.structural_walk(walked, on_any, order="pre")
        self._touch_all(mentioned)
        for call in calls:
            self._splice(call)
        if calls:
            self._touch_all(mentioned)

    def _move(self, var: tirx.Var, access: Access, value: PrimType | None = None) -> None:
        """Count a load or store of a `value`; without one, of the whole memory."""
        sizes = (item_bytes(str(var.dtype)), item_bytes(str(value.dtype))) if value else (1, 0)
        for root in self.pointers.get(var, ()):
            root.use.movements[Movement(self.name, access, *sizes)] += self.times

    def _touch_all(self, accesses: dict[Root, Access]) -> None:
        for root, access in accesses.items():
            self._touch(root, self.position, self.position + 1)
            if access:
                root.use.add(self.name, access)
                self.current.access(root, access)
        self.position += 1

    def _roots(self, variables: Iterable[tirx.Var]) -> Roots:
        return frozenset(root for var in variables for root in self.pointers.get(var, ()))

    def _escape(self, expr: tirx.Expr) -> None:
        """The value of `expr` is kept: what it may point to can be accessed from now on."""
        for root in self._roots(address_of(expr).bases):
            root.escapes = True
            root.use.add(self.name, Access.UNKNOWN)
            self.current.access(root, Access.UNKNOWN)

    def _splice(self, call: PrimFuncCall) -> None:
        """Put the liveness of the called PrimFunc in at this position, after its arguments."""
        callee = self.callees[call.callee]
        addresses = [address_of(argument) for argument in call.arguments]
        computed = [part for address in addresses for part in address.computed]
        if computed:
            self.use(*computed)
        start = self.position
        self.position += callee.length
        pointed = [self._roots(address.bases) for address in addresses]
        self.current.arguments.append(pointed)
        for index, roots in enumerate(pointed):
            if index < callee.number_of_parameters:
                span, use = callee.parameters.get(index), callee.parameter_use[index]
            else:
                span, use = (0, callee.length), MemoryUse.unknown(call.callee)
            for root in roots:
                if span is not None:
                    self._touch(root, start + span[0], start + span[1])
                root.use.add_call(use, self.times)
                self.current.access(root, use.access)
                root.escapes |= index in callee.escaping_parameters
        concurrent = any(loop.concurrent for loop in self.loops)
        for stmt, spans in callee.allocations.items():
            shifted = [(start + low, start + high) for low, high in spans]
            self.allocations.setdefault(stmt, []).extend(shifted)
            self.current.allocations.setdefault(stmt, []).extend(shifted)
            self.functions.setdefault(stmt, callee.functions[stmt])
            use = callee.allocation_use[stmt]
            self.allocation_use.setdefault(stmt, MemoryUse()).add_call(use, self.times)
            if concurrent or stmt in callee.unplannable:
                self.unplannable.add(stmt)

    def _touch(self, root: Root, start: int, stop: int) -> None:
        self.current.touch(root, start, stop)
        for loop in self.loops:
            loop.touched.add(root)


def _finished(statement: Outermost) -> StatementLiveness:
    return StatementLiveness(
        statement.stmt,
        statement.start,
        {root.number: span for root, span in statement.spans.items()},
        {root.number: access for root, access in statement.accesses.items() if access},
        [root.number for root in statement.roots],
        statement.allocations,
        [
            [frozenset(root.number for root in roots) for roots in arguments]
            for arguments in statement.arguments
        ],
    )
