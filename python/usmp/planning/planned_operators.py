"""The positions and the buffers of the operators of a planned module."""

from __future__ import annotations

from tvm import tirx
from tvm.ir import IRModule

from usmp.analysis.entry_buffers import entry_lengths
from usmp.analysis.joint_buffers import entry_ranges
from usmp.analysis.memory.access import Access
from usmp.analysis.memory.facts import FunctionFacts, module_facts
from usmp.analysis.memory.function_liveness import StatementLiveness
from usmp.analysis.operator_statements import operator_statements
from usmp.objects import PlannedOperator
from usmp.objects.entries import entries_of, entry_function_name
from usmp.planning.plan import Plan


def planned_operators(mod: IRModule, found: Plan) -> list[PlannedOperator]:
    """Return the operators of all entries in program order.

    Parameters
    ----------
    mod
        the module that was planned.
    found
        its plan.
    """
    names: dict[tirx.Var, list[str]] = {}
    for buffer, stmt in found.analysis.buffer_info_stmts.items():
        names.setdefault(stmt.buffer, []).append(str(buffer.name_hint))
    facts, starts = module_facts(mod), entry_ranges(entry_lengths(mod))
    return [
        operator
        for entry in entries_of(mod)
        for operator in _of_entry(
            entry, facts.of(entry_function_name(entry)), starts[entry][0], names
        )
    ]


def _of_entry(
    entry: str, facts: FunctionFacts, first: int, names: dict[tirx.Var, list[str]]
) -> list[PlannedOperator]:
    statements = facts.liveness.statements
    stops = [*(s.start for s in statements[1:]), facts.liveness.length]
    return [
        PlannedOperator(
            entry,
            first + statements[index].start,
            first + stops[index],
            *_used(statements[index], names),
        )
        for index in operator_statements(facts.func, facts.calls)
    ]


def _used(
    statement: StatementLiveness, names: dict[tirx.Var, list[str]]
) -> tuple[list[str], list[str]]:
    """Return the names of the buffers that a statement may read, and of those it may write."""
    own = [name for stmt in statement.allocations for name in names.get(stmt.buffer, ())]
    read, written = list(own), list(own)
    for memory, access in statement.accesses.items():
        if access & (Access.READ | Access.UNKNOWN):
            read += names.get(memory, ())
        if access.may_write:
            written += names.get(memory, ())
    return list(dict.fromkeys(read)), list(dict.fromkeys(written))
