"""Traces of PrimFuncs that access memory alike, whatever they compute: what follows from one of
them holds for all.

Layers of one geometry have such traces, and segments that are made for several plans.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import tvm_ffi
from tvm import tirx

from usmp.analysis.memory.iterations import TracedLoop
from usmp.analysis.memory.memories import Memory
from usmp.analysis.memory.traced_access import MemoryTrace, TracedAccess, TracedStatement
from usmp.support.found import Found
from usmp.tir.identity import identity

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, eq=False)
class EqualTraces:
    """Traces that differ only in which objects their memories, variables and loops are."""

    found: Found = field(default_factory=Found)
    """What is known of them, by the numbers of memories and loops."""


@dataclass(frozen=True, eq=False)
class NumberedTrace:
    """The memories and loops of a trace, by numbers that equal traces have in common.

    Parameters
    ----------
    equal
        the traces that are equal to it.
    memories
        that are accessed.
    loops
        around accesses.
    """

    equal: EqualTraces
    memories: Mapping[Memory, int]
    loops: Mapping[TracedLoop, int]

    def once(
        self, what: Hashable, memories: Sequence[Memory], find: Callable[[], _Answer]
    ) -> _Answer:
        """Return what `find` returns; found once for all traces that are equal.

        Parameters
        ----------
        what, memories
            the question, and the memories that it is about.
        """
        if not all(memory in self.memories for memory in memories):
            return find()
        numbers = (self.memories[memory] for memory in memories)
        return self.equal.found.once((what, *numbers), find)


def numbered_trace(
    params: Sequence[Memory],
    trace: MemoryTrace,
    called: Callable[[str, Memory | None], Hashable],
    shared: Found,
) -> NumberedTrace:
    """Number the memories and loops of a trace.

    Parameters
    ----------
    params
        of the PrimFunc.
    trace
        its accesses.
    called
        the same for callees whose accesses are equal, and for the same memory in both.
    shared
        has the traces that were numbered before.
    """
    return _Numbering(params, trace, called).number(shared)


class _Numbering:
    def __init__(
        self,
        params: Sequence[Memory],
        trace: MemoryTrace,
        called: Callable[[str, Memory | None], Hashable],
    ) -> None:
        self.trace = trace
        self.called = called
        self.exprs: dict[int, tuple[tirx.Expr, int]] = {}
        self.statements: dict[TracedStatement, int] = {}
        self.loops: dict[TracedLoop, int] = {}
        self.memories: dict[Memory, int] = {}
        self.params = len(params)
        for memory in (*params, *trace.accesses, *trace.passed):
            self.memories.setdefault(memory, len(self.memories))

    def number(self, shared: Found) -> NumberedTrace:
        """Return the numbers."""
        trace, memories = self.trace, self.memories
        bound = tuple(self._expr(expr) for pair in trace.bound.items() for expr in pair)
        accesses = tuple(
            (memories[memory], tuple(map(self._access, found)))
            for of in (trace.accesses, trace.passed)
            for memory, found in of.items()
        )
        plain = (
            self.params,
            tuple((memory in trace.escaped, memory in trace.allocated) for memory in memories),
            len(trace.accesses),
            accesses,
            tuple(map(self._statement, list(self.statements))),
            tuple(map(self._loop, list(self.loops))),
            bound,
        )
        exprs = tvm_ffi.convert([expr for expr, _ in self.exprs.values()])
        code = tvm_ffi.structural_hash(exprs, map_free_vars=True)
        known: list[tuple[object, EqualTraces]] = shared.once(("traces", plain, code), list)
        for other, equal in known:
            if tvm_ffi.structural_equal(exprs, other, map_free_vars=True):
                return NumberedTrace(equal, memories, self.loops)
        known.append((exprs, EqualTraces()))
        return NumberedTrace(known[-1][1], memories, self.loops)

    def _expr(self, expr: tirx.Expr | None) -> int | None:
        if expr is None:
            return None
        # The expression is kept, so that no other one gets its identity.
        return self.exprs.setdefault(identity(expr), (expr, len(self.exprs)))[1]

    def _access(self, access: TracedAccess) -> Hashable:
        statement = access.statement
        terms = access.address.terms
        return (
            self.statements.setdefault(statement, len(self.statements)),
            *(access.first, access.end, access.is_write),
            None if terms is None else tuple((self._expr(t.index), t.unit_bytes) for t in terms),
            tuple((self._expr(condition), truth) for condition, truth in access.conditions),
            None if statement.callee is None else self.called(statement.callee, access.in_callee),
        )

    def _statement(self, statement: TracedStatement) -> Hashable:
        loops = [self.loops.setdefault(loop, len(self.loops)) for loop in statement.loops]
        return statement.order, statement.loads_first, *loops

    def _loop(self, loop: TracedLoop) -> Hashable:
        exprs = (self._expr(expr) for expr in (loop.variable, loop.first, loop.extent))
        return (*exprs, loop.step, loop.trips, loop.is_ordered)
