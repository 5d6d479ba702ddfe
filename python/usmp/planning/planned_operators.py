"""The positions and the buffers of the operators of a planned module."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from tvm import tirx
from tvm.ir import IRModule

from usmp.analysis.entry_buffers import entry_lengths
from usmp.analysis.joint_buffers import entry_ranges
from usmp.analysis.memory.access import Access, MemoryUse
from usmp.analysis.memory.facts import FunctionFacts, module_facts
from usmp.analysis.memory.function_liveness import StatementLiveness
from usmp.analysis.operator_statements import operator_statements
from usmp.objects import LiveRange, PlannedOperator
from usmp.objects.entries import entries_of, entry_function_name
from usmp.planning.placed_buffers import placed_tails
from usmp.planning.plan import Plan

Names: TypeAlias = "dict[tirx.Var, list[tuple[str, LiveRange | None]]]"
"""Memory -> names of its buffers, each with the range in which it is used, or None for all of it:
the bytes behind a state are a buffer that is live in a part of a run."""


def planned_operators(mod: IRModule, found: Plan) -> list[PlannedOperator]:
    """Return the operators of all entries in program order.

    Parameters
    ----------
    mod
        the module that was planned.
    found
        its plan.
    """
    names: Names = {}
    for buffer, stmt in found.analysis.buffer_info_stmts.items():
        names.setdefault(stmt.buffer, []).append((str(buffer.name_hint), None))
    for stmt, tail in placed_tails(mod, found):
        names[stmt.buffer].append((str(tail.name), tail.live_ranges[0]))
    facts, starts = module_facts(mod), entry_ranges(entry_lengths(mod))
    return [
        operator
        for entry in entries_of(mod)
        for operator in _of_entry(
            entry, facts.of(entry_function_name(entry)), starts[entry][0], names
        )
    ]


def _of_entry(entry: str, facts: FunctionFacts, first: int, names: Names) -> list[PlannedOperator]:
    statements = facts.liveness.statements
    stops = [*(s.start for s in statements[1:]), facts.liveness.length]
    use = facts.liveness.allocation_use
    ranges = {
        index: (first + statements[index].start, first + stops[index])
        for index in operator_statements(facts.func, facts.calls)
    }
    return [
        PlannedOperator(entry, *between, *_used(statements[index], *between, names, use))
        for index, between in ranges.items()
    ]


def _used(
    statement: StatementLiveness,
    start: int,
    stop: int,
    names: Names,
    use: Mapping[tirx.AllocBuffer, MemoryUse],
) -> tuple[list[str], list[str]]:
    """Return the names of the buffers that a statement may read, and of those it may write.

    Parameters
    ----------
    use
        accesses to the allocations in callees.
    """

    def live(memory: tirx.Var) -> list[str]:
        known = names.get(memory, ())
        return [n for n, live in known if live is None or (live.start < stop and start < live.stop)]

    read, written = [], []
    for stmt in statement.allocations:
        own = live(stmt.buffer)
        read += own
        # Constants are only read, but scratch is listed as both.
        written += own if use.get(stmt, MemoryUse()).access != Access.READ else []
    for memory, access in statement.accesses.items():
        if access & (Access.READ | Access.UNKNOWN):
            read += live(memory)
        if access.may_write:
            written += live(memory)
    return list(dict.fromkeys(read)), list(dict.fromkeys(written))
