"""Equality of the traces of PrimFuncs, so that equal traces share the results of analyses.

Layers of one geometry have equal traces, and so do segments in several candidate plans.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import tvm_ffi
from tvm import tirx

from usmp.analysis.memory.indices.iterations import TracedLoop
from usmp.analysis.memory.memories import Memory
from usmp.analysis.memory.traced_access import MemoryTrace, TracedAccess, TracedStatement
from usmp.support.found import Found
from usmp.tir.identity import identity

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, eq=False)
class EqualTraces:
    """Traces that are equal except for the identities of memories, variables and loops."""

    found: Found = field(default_factory=Found)
    """A cache of results of analyses, by the numbers of memories and loops."""


@dataclass(frozen=True, eq=False)
class NumberedTrace:
    """The memories and loops of a trace, with numbers that are the same in equal traces.

    Parameters
    ----------
    equal
        the class of equal traces.
    memories
        numbers of the parameters and of all accessed memories.
    loops
        numbers of the loops around accesses.
    """

    equal: EqualTraces
    memories: Mapping[Memory, int]
    loops: Mapping[TracedLoop, int]

    def once(
        self, what: Hashable, memories: Sequence[Memory], find: Callable[[], _Answer]
    ) -> _Answer:
        """Return the result of `find`, computed once for all equal traces.

        Parameters
        ----------
        what, memories
            the key of the result, and the memories that it depends on.
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
        parameters of the PrimFunc.
    trace
        the accesses of the PrimFunc.
    called
        returns a key of a callee and of a memory in it, equal for callees with equal traces.
    shared
        a cache with the traces that were numbered before.
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
        """Return the numbered trace."""
        trace, memories = self.trace, self.memories
        bound = tuple(self._expr(expr) for pair in trace.bound.items() for expr in pair)
        accesses = tuple(
            (memories[memory], tuple(map(self._access, traced)))
            for by_memory in (trace.accesses, trace.passed)
            for memory, traced in by_memory.items()
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
        # Keep the expression alive, so that no other object gets its identity.
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
