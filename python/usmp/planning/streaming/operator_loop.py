"""An operator as a loop, with the bytes that each iteration reads and writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np
from tvm import tirx

from usmp.analysis.memory.distances.accessed_bytes import accessed_bytes
from usmp.analysis.memory.facts import FunctionFacts
from usmp.analysis.memory.indices.index_values import NotKnown, Values
from usmp.analysis.memory.memories import UNBOUNDED, Memory
from usmp.analysis.memory.traced_access import TracedAccess
from usmp.support.found import Found
from usmp.tir.nodes import nodes_of

MOST_STEPS = 1 << 14
"""Most iterations of a loop that are analyzed one by one."""


@dataclass(frozen=True, eq=False)
class ByteRanges:
    """The bytes of a memory that the steps of a loop access.

    Parameters
    ----------
    first, end
        first byte and end of each step, (steps,); `UNBOUNDED` and `-UNBOUNDED` without access.
    """

    first: Values
    end: Values

    @cached_property
    def begins(self) -> Values:
        """By step, the first byte that this step or a later one accesses."""
        begins: Values = np.minimum.accumulate(self.first[::-1])[::-1]
        return begins

    @cached_property
    def ends(self) -> Values:
        """By step, the end of the bytes that this step and earlier ones access."""
        ends: Values = np.maximum.accumulate(self.end)
        return ends

    def part_bytes(self, size_bytes: int) -> int | None:
        """Return the bytes of each step if the steps access consecutive parts of the whole memory;
        else None."""
        number, rest = divmod(size_bytes, len(self.first))
        first = np.arange(len(self.first)) * number
        regular = np.array_equal(self.first, first) and np.array_equal(self.end, first + number)
        return number if regular and number and not rest else None


@dataclass(frozen=True, eq=False)
class LoopAccesses:
    """An object that all `OperatorLoop`s with equal reads and writes share."""

    found: Found = field(default_factory=Found)
    """Results about these operators, which many segments need."""


@dataclass(frozen=True, eq=False)
class OperatorLoop:
    """A PrimFunc that is a serial loop, with declarations and statements around it.

    A step is an iteration of the loop, mostly a row of the result. The first step includes the
    statements before the loop, the last step those after it. Bytes between the address that a
    tensor intrinsic takes and those that it accesses count as accessed, too, because a C pointer
    must not point before the first byte of a ring.

    Parameters
    ----------
    declarations
        views of parameters.
    allocations
        allocations beside the loop.
    before, loop, after
        the loop, and the other statements in their order.
    steps
        iterations of the loop.
    columns
        iterations of the nested loop, mostly the columns of a row, if the body is a loop with at
        most `MOST_STEPS` iterations in all steps; else 1.
    reads, writes
        bytes of each parameter, by its index. A parameter whose bytes are unknown, or whose address
        escapes, is only in `unknown`.
    unknown
        indices of the parameters with unknown accesses.
    """

    facts: FunctionFacts
    func: tirx.PrimFunc
    declarations: Sequence[tirx.Stmt]
    allocations: Sequence[tirx.Stmt]
    before: Sequence[tirx.Stmt]
    loop: tirx.For
    after: Sequence[tirx.Stmt]
    steps: int
    columns: int
    reads: Mapping[int, ByteRanges]
    writes: Mapping[int, ByteRanges]
    unknown: frozenset[int]
    found: Found = field(default_factory=Found)
    """Results about this operator, which many segments need."""

    @cached_property
    def by_columns(self) -> tuple[Mapping[int, ByteRanges], Mapping[int, ByteRanges]] | None:
        """Reads and writes by column of each step; None for one column, or if they are unknown."""
        if self.columns == 1:
            return None
        accesses = _Accesses(self.facts, self.loop, self.steps, self.columns)
        ranges: tuple[dict[int, ByteRanges], dict[int, ByteRanges]] = ({}, {})
        try:
            for known, is_write, into in zip(
                (self.reads, self.writes), (False, True), ranges, strict=True
            ):
                for index in known:
                    into[index] = accesses.of(self.func.params[index], is_write)
        except NotKnown:
            return None
        return ranges

    @cached_property
    def accesses(self) -> LoopAccesses:
        """The object of all loops with equal reads and writes by step."""
        ranges = _plain(self.reads), _plain(self.writes)
        key = "accesses", self.steps, self.columns, self.unknown, *ranges
        return self.facts.shared.once(key, LoopAccesses)

    @cached_property
    def accesses_by_columns(self) -> LoopAccesses:
        """The object of all loops with equal accesses by step and, if they are known, by column."""
        ranges = () if self.by_columns is None else map(_plain, self.by_columns)
        return self.facts.shared.once(("by columns", self.accesses, *ranges), LoopAccesses)

    def step_bytes(self, index: int, size_bytes: int) -> int | None:
        """Return the bytes of a parameter that each step writes, if the steps write consecutive
        parts of the whole parameter; else None."""
        written = self.writes.get(index)
        return None if written is None else written.part_bytes(size_bytes)


def _plain(ranges: Mapping[int, ByteRanges]) -> tuple[tuple[int, bytes, bytes], ...]:
    return tuple((i, r.first.tobytes(), r.end.tobytes()) for i, r in ranges.items())


def operator_loop(facts: FunctionFacts) -> OperatorLoop | None:
    """Return a PrimFunc as a loop. Return None if it has no outermost loop of 2 to `MOST_STEPS`
    iterations that access memory, binds a variable outside of loops, may leave a loop early, calls
    PrimFuncs, or lets a local address escape.

    Parameters
    ----------
    facts
        facts of the PrimFunc, which is flat TIR.
    """
    statements = _LoopStatements.of(facts)
    if statements is None or not 1 < int(statements.loop.extent) <= MOST_STEPS:
        return None
    if _may_jump(facts.func) or not _has_own_variable(statements.loop, facts.func):
        return None
    trace = facts.overlap.trace
    if trace.escaped - set(facts.func.params) or facts.callees:
        return None
    steps = int(statements.loop.extent)
    inner = statements.loop.body
    columns = int(inner.extent) if _is_loop(inner) else 1
    try:
        accesses = _Accesses(facts, statements.loop, steps)
    except NotKnown:
        return None
    reads: dict[int, ByteRanges] = {}
    writes: dict[int, ByteRanges] = {}
    unknown: set[int] = set()
    for index, param in enumerate(facts.func.params):
        try:
            known = {w: accesses.of(param, w) for w in (False, True) if accesses.has(param, w)}
        except NotKnown:
            unknown.add(index)
            continue
        reads.update({index: known[False]} if False in known else {})
        writes.update({index: known[True]} if True in known else {})
    return OperatorLoop(
        facts,
        facts.func,
        statements.declarations,
        statements.allocations,
        statements.before,
        statements.loop,
        statements.after,
        steps,
        columns if columns > 1 and steps * columns <= MOST_STEPS else 1,
        reads,
        writes,
        frozenset(unknown),
    )


@dataclass
class _LoopStatements:
    declarations: list[tirx.Stmt]
    allocations: list[tirx.Stmt]
    before: list[tirx.Stmt]
    loop: tirx.For
    after: list[tirx.Stmt]

    @classmethod
    def of(cls, facts: FunctionFacts) -> _LoopStatements | None:
        statements = tirx.stmt_list(facts.func.body)
        declarations: list[tirx.Stmt] = []
        allocations: list[tirx.Stmt] = []
        others: list[tirx.Stmt] = []
        for stmt in statements:
            if isinstance(stmt, tirx.DeclBuffer):
                declarations.append(stmt)
            elif isinstance(stmt, tirx.AllocBuffer):
                allocations.append(stmt)
            elif isinstance(stmt, tirx.Bind):
                return None
            else:
                others.append(stmt)
        loops = [index for index, stmt in enumerate(others) if _is_loop(stmt)]
        if not loops:
            return None
        # Take the loop with most accesses. Others run as a whole, such as loops that initialize
        # accumulators before it and requantize them after it.
        at = max(loops, key=lambda index: _work(others[index], facts))
        return cls(declarations, allocations, others[:at], others[at], others[at + 1 :])


def _may_jump(func: tirx.PrimFunc) -> bool:
    """Return whether a PrimFunc may end or leave a loop early, which would end a whole segment."""
    return any(nodes_of(func.body, kind) for kind in (tirx.Return, tirx.Break, tirx.Continue))


def _has_own_variable(loop: tirx.For, func: tirx.PrimFunc) -> bool:
    """Return whether no other loop has the loop's variable, which identifies its accesses."""
    variables = [other.loop_var for other in nodes_of(func.body, tirx.For)]
    return sum(bool(variable.same_as(loop.loop_var)) for variable in variables) == 1


def _work(loop: tirx.For, facts: FunctionFacts) -> int:
    """Estimate the accesses in a loop. An inner loop of unknown trip count counts once."""
    accesses = (a for of_memory in facts.overlap.trace.accesses.values() for a in of_memory)
    inside = [access.statement.loops for access in accesses if _is_inside(access, loop)]
    return sum(int(np.prod([around.trips or 1 for around in loops])) for loops in inside)


def _is_loop(stmt: tirx.Stmt) -> bool:
    if not isinstance(stmt, tirx.For) or stmt.kind != tirx.ForKind.SERIAL:
        return False
    step = 1 if stmt.step is None else stmt.step
    bounds = (stmt.min, stmt.extent)
    return all(isinstance(b, tirx.IntImm) for b in bounds) and int(stmt.min) == 0 and int(step) == 1


class _Accesses:
    """The bytes that a PrimFunc accesses in each step of its loop.

    Parameters
    ----------
    columns
        columns of a step that are analyzed one by one. Statements before or after the nested loop
        count as a part of the first or last column.

    Raises
    ------
    NotKnown
        nothing in the loop accesses memory.
    """

    def __init__(self, facts: FunctionFacts, loop: tirx.For, steps: int, columns: int = 1) -> None:
        self.overlap = facts.overlap
        self.trace = self.overlap.trace
        self.loop = loop
        self.shape = (steps,) if columns == 1 else (steps, columns)
        everything = [a for of_memory in self.trace.accesses.values() for a in of_memory]
        inside = [access.statement for access in everything if _is_inside(access, loop)]
        if not inside:
            raise NotKnown
        self.start = min(statement.order for statement in inside)
        self.traced = inside[0].loops[0]

    def has(self, memory: Memory, is_write: bool) -> bool:
        """Return whether the PrimFunc reads a memory, or with `is_write` writes to it.

        Raises
        ------
        NotKnown
            the address of the memory escapes.
        """
        if memory in self.trace.escaped:
            raise NotKnown
        return any(a.is_write == is_write for a in self.trace.accesses.get(memory, ()))

    def of(self, memory: Memory, is_write: bool) -> ByteRanges:
        """Return the bytes of a memory that each step reads, or with `is_write` writes.

        Raises
        ------
        NotKnown
            these bytes are unknown.
        """
        numbered = self.overlap.numbered
        key = "bytes of steps", numbered.loops[self.traced], self.shape, is_write
        return numbered.once(key, [memory], partial(self._of, memory, is_write))

    def _of(self, memory: Memory, is_write: bool) -> ByteRanges:
        first = np.full(self.shape, UNBOUNDED, np.int64)
        end = np.full(self.shape, -UNBOUNDED, np.int64)
        accesses = self.trace.accesses.get(memory, ())
        chosen = [access for access in accesses if access.is_write == is_write]
        for access in (*chosen, *self.trace.passed.get(memory, ())):
            if _is_inside(access, self.loop):
                accessed = accessed_bytes(access, self.trace.bound, len(self.shape))
                np.minimum(first, accessed[0], out=first)
                np.maximum(end, accessed[1], out=end)
            else:
                accessed = accessed_bytes(access, self.trace.bound, 0)
                at = 0 if access.statement.order < self.start else -1
                first.flat[at] = min(first.flat[at], int(accessed[0]))
                end.flat[at] = max(end.flat[at], int(accessed[1]))
        return ByteRanges(first.ravel(), end.ravel())


def _is_inside(access: TracedAccess, loop: tirx.For) -> bool:
    loops = access.statement.loops
    return (
        bool(loops) and loops[0].variable is not None and loops[0].variable.same_as(loop.loop_var)
    )
