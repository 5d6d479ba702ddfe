"""The result of the liveness analysis of one PrimFunc."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from tvm import tirx

from usmp.analysis.memory.access import Access, MemoryUse
from usmp.analysis.memory.memories import Memory

PositionRange = tuple[int, int]
"""Half-open range of program positions."""


@dataclass(frozen=True, eq=False)
class StatementLiveness:
    """The accesses of a top-level statement to parameters and allocations of its PrimFunc.

    Parameters
    ----------
    stmt
        the statement.
    start
        the position at which the statement begins.
    ranges
        the positions between first and last access of each memory.
    accesses
        the kinds of accesses to each memory.
    allocated
        the memories that the statement allocates.
    allocations
        live ranges of the AllocBuffers in callees; also the AllocBuffers in the statement itself,
        without ranges.
    """

    stmt: tirx.Stmt
    start: int
    ranges: Mapping[Memory, PositionRange]
    accesses: Mapping[Memory, Access]
    allocated: Sequence[Memory]
    allocations: Mapping[tirx.AllocBuffer, Sequence[PositionRange]]


@dataclass(frozen=True, eq=False)
class FunctionLiveness:
    """The accesses of one call of a PrimFunc, in positions relative to its start.

    All callers share one object, so it must not be changed.

    Parameters
    ----------
    length
        number of positions, at least 1.
    parameters
        live range of each accessed parameter, by index.
    parameter_use
        accesses to each parameter, by index.
    escaped_parameters
        indices of parameters whose address escapes.
    allocations
        live ranges of each allocation, in program order; several where the PrimFunc that contains
        it is called several times.
    allocation_use
        accesses to each allocation.
    functions
        name of the PrimFunc that contains each allocation.
    unplannable
        allocations that several iterations or calls may use at the same time.
    escaping
        memories of this PrimFunc whose address escapes.
    statements
        the top-level statements.
    passed
        variables that are passed to a PrimFunc or to an unknown function.
    written
        variables through which memory may be written.
    """

    length: int
    parameters: Mapping[int, PositionRange]
    parameter_use: Mapping[int, MemoryUse]
    escaped_parameters: AbstractSet[int]
    allocations: Mapping[tirx.AllocBuffer, Sequence[PositionRange]]
    allocation_use: Mapping[tirx.AllocBuffer, MemoryUse]
    functions: Mapping[tirx.AllocBuffer, str]
    unplannable: AbstractSet[tirx.AllocBuffer]
    escaping: AbstractSet[Memory]
    statements: Sequence[StatementLiveness]
    passed: AbstractSet[tirx.Var]
    written: AbstractSet[tirx.Var]


def merge_ranges(ranges: Iterable[PositionRange]) -> list[PositionRange]:
    """Return sorted, disjoint, non-adjacent ranges that cover the same positions."""
    merged: list[PositionRange] = []
    for start, stop in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], stop))
        else:
            merged.append((start, stop))
    return merged
