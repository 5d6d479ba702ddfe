"""What the liveness analysis knows of one PrimFunc."""

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
    """What one of the outermost statements of a PrimFunc does to the memories that this knows.

    Parameters
    ----------
    stmt
        the statement.
    start
        the position at which it begins.
    ranges
        the positions between first and last access of each memory.
    accesses
        what is done to these memories.
    allocated
        the memories that are allocated in it.
    allocations
        the AllocBuffers in it and in the PrimFuncs that it calls; with their positions
        those in the latter.
    """

    stmt: tirx.Stmt
    start: int
    ranges: Mapping[Memory, PositionRange]
    accesses: Mapping[Memory, Access]
    allocated: Sequence[Memory]
    allocations: Mapping[tirx.AllocBuffer, Sequence[PositionRange]]


@dataclass(frozen=True, eq=False)
class FunctionLiveness:
    """What one call of a PrimFunc does to memory, in positions relative to its start; not to be
    changed, since it is found once for all callers.

    Parameters
    ----------
    length
        positions, at least 1.
    parameters
        index of a parameter that is accessed -> its first and last position.
    parameter_use
        what is done to each parameter, by index.
    escaped_parameters
        those whose address is kept.
    allocations
        in program order; several ranges where the enclosing PrimFunc is called several
        times.
    allocation_use
        what is done to each allocation.
    functions
        the name of the PrimFunc that an allocation stands in.
    unplannable
        allocations that several iterations may hold at the same time.
    escaping
        the memories of this PrimFunc whose address is kept.
    statements
        the outermost statements.
    passed
        variables whose value is given to a PrimFunc, or to an unknown function.
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
    """Sorted, disjoint, non-adjacent ranges that cover the same positions."""
    merged: list[PositionRange] = []
    for start, stop in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], stop))
        else:
            merged.append((start, stop))
    return merged
