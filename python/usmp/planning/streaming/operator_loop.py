"""An operator as a loop: which bytes does each iteration of its outermost loop read and write?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from tvm import tirx

from usmp.analysis.memory.accessed_bytes import accessed_bytes
from usmp.analysis.memory.facts import FunctionFacts
from usmp.analysis.memory.index_values import NotKnown, Values
from usmp.analysis.memory.traced_access import UNBOUNDED, TracedAccess

MOST_STEPS = 1 << 14
"""Iterations of a loop that are looked at one by one."""


@dataclass(frozen=True, eq=False)
class Bytes:
    """What the steps of a loop access of a memory.

    Parameters
    ----------
    first, end
        by step, the first byte and the end; `UNBOUNDED` and `-UNBOUNDED` where there is no access.
    """

    first: Values
    end: Values


@dataclass(frozen=True, eq=False)
class OperatorLoop:
    """A PrimFunc that is a serial loop, with declarations and statements around it.

    A step is an iteration of the loop, mostly a row of the result. What comes before
    the loop counts as a part of the first step, what follows it as one of the last.

    Parameters
    ----------
    declarations
        views of its parameters.
    allocations
        what it allocates beside the loop.
    before, loop, after
        its other statements, in their order.
    steps
        iterations of the loop.
    reads, writes
        by index of a parameter. A parameter whose bytes are not known, or whose address is given
        away, is in neither, but in `unknown`.
    unknown
        indices of such parameters.
    """

    func: tirx.PrimFunc
    declarations: Sequence[tirx.Stmt]
    allocations: Sequence[tirx.Stmt]
    before: Sequence[tirx.Stmt]
    loop: tirx.For
    after: Sequence[tirx.Stmt]
    steps: int
    reads: Mapping[int, Bytes]
    writes: Mapping[int, Bytes]
    unknown: frozenset[int]

    def step_bytes(self, index: int, size_bytes: int) -> int | None:
        """Bytes of a parameter that each step writes, one after the other until all of it is
        written; None if that is not how it is written."""
        written = self.writes.get(index)
        if written is None or size_bytes % self.steps:
            return None
        number = size_bytes // self.steps
        first = np.arange(self.steps) * number
        regular = np.array_equal(written.first, first) and np.array_equal(
            written.end, first + number
        )
        return number if regular and number else None


def operator_loop(facts: FunctionFacts) -> OperatorLoop | None:
    """A PrimFunc as a loop; None if it has no outermost loop of more than one iteration, or
    several, or what it accesses is not known.

    Parameters
    ----------
    facts
        of the PrimFunc, which is flat TIR.
    """
    parts = _Parts.of(facts)
    if parts is None or not 1 < int(parts.loop.extent) <= MOST_STEPS:
        return None
    trace = facts.overlap.trace
    if trace.escaped - set(facts.func.params) or facts.callees:
        return None
    steps = int(parts.loop.extent)
    everything = [access for accesses in trace.accesses.values() for access in accesses]
    inside = [a.statement.order for a in everything if _is_inside(a, parts.loop)]
    start = min(inside, default=0)
    reads: dict[int, Bytes] = {}
    writes: dict[int, Bytes] = {}
    unknown: set[int] = set()
    for index, param in enumerate(facts.func.params):
        accesses = trace.accesses.get(param, ())
        if param in trace.escaped:
            unknown.add(index)
            continue
        try:
            for found, is_write in ((reads, False), (writes, True)):
                chosen = [access for access in accesses if access.is_write == is_write]
                if chosen:
                    found[index] = _bytes_of(chosen, parts.loop, start, trace.bound, steps)
        except NotKnown:
            unknown.add(index)
    known = {index: b for index, b in reads.items() if index not in unknown}
    written = {index: b for index, b in writes.items() if index not in unknown}
    return OperatorLoop(
        facts.func,
        parts.declarations,
        parts.allocations,
        parts.before,
        parts.loop,
        parts.after,
        steps,
        known,
        written,
        frozenset(unknown),
    )


@dataclass
class _Parts:
    declarations: list[tirx.Stmt]
    allocations: list[tirx.Stmt]
    before: list[tirx.Stmt]
    loop: tirx.For
    after: list[tirx.Stmt]

    @classmethod
    def of(cls, facts: FunctionFacts) -> _Parts | None:
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
        # Of several the one that does most; the others, as those that set accumulators before it
        # and make results of them after it, run as a whole.
        at = max(loops, key=lambda index: _work(others[index], facts))
        return cls(declarations, allocations, others[:at], others[at], others[at + 1 :])


def _work(loop: tirx.For, facts: FunctionFacts) -> int:
    """How often a loop accesses memory, at the most."""
    accesses = (a for found in facts.overlap.trace.accesses.values() for a in found)
    inside = [access.statement.loops for access in accesses if _is_inside(access, loop)]
    return sum(int(np.prod([around.trips or 1 for around in loops])) for loops in inside)


def _is_loop(stmt: tirx.Stmt) -> bool:
    if not isinstance(stmt, tirx.For) or stmt.kind != tirx.ForKind.SERIAL:
        return False
    step = 1 if stmt.step is None else stmt.step
    bounds = (stmt.min, stmt.extent)
    return all(isinstance(b, tirx.IntImm) for b in bounds) and int(stmt.min) == 0 and int(step) == 1


def _bytes_of(
    accesses: Sequence[TracedAccess],
    loop: tirx.For,
    start: int,
    bound: Mapping[tirx.Var, tirx.Expr],
    steps: int,
) -> Bytes:
    """The union of some accesses, by step; statements from `start` on are in the loop or after."""
    first = np.full(steps, UNBOUNDED, np.int64)
    end = np.full(steps, -UNBOUNDED, np.int64)
    for access in accesses:
        if _is_inside(access, loop):
            found = accessed_bytes(access, bound, 1)
            np.minimum(first, found[0], out=first)
            np.maximum(end, found[1], out=end)
        else:
            found = accessed_bytes(access, bound, 0)
            at = 0 if access.statement.order < start else steps - 1
            first[at] = min(first[at], int(found[0]))
            end[at] = max(end[at], int(found[1]))
    return Bytes(first, end)


def _is_inside(access: TracedAccess, loop: tirx.For) -> bool:
    loops = access.statement.loops
    return (
        bool(loops) and loops[0].variable is not None and loops[0].variable.same_as(loop.loop_var)
    )
