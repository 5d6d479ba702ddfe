"""What the liveness analysis knows of one PrimFunc."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from tvm import tirx

from usmp.analysis.memory.access import Access, MemoryUse

Span = tuple[int, int]
"""Half-open range of program positions."""


@dataclass(frozen=True)
class Piece:
    """A piece of memory that a PrimFunc knows: a parameter (`index`) or one execution of an
    AllocBuffer (`stmt`). It escapes if its address is kept."""

    index: int | None
    stmt: tirx.AllocBuffer | None
    escapes: bool


@dataclass(frozen=True, eq=False)
class StatementLiveness:
    """What one of the outermost statements of a PrimFunc does to memory.

    Parameters
    ----------
    stmt: the statement.
    start: the position at which it begins.
    spans: number of a piece of memory -> the positions between first and last access.
    accesses: what is done to these pieces.
    pieces: those that are allocated in it.
    allocations: the AllocBuffers in it and in the PrimFuncs that it calls; with their positions
        those in the latter.
    arguments: of the calls of PrimFuncs in it, for each argument the pieces it may point to.
    """

    stmt: tirx.Stmt
    start: int
    spans: Mapping[int, Span]
    accesses: Mapping[int, Access]
    pieces: Sequence[int]
    allocations: Mapping[tirx.AllocBuffer, Sequence[Span]]
    arguments: Sequence[Sequence[frozenset[int]]]


@dataclass(frozen=True, eq=False)
class FunctionLiveness:
    """What one call of a PrimFunc does to memory, in positions relative to its start; not to be
    changed, since it is found once for all who ask.

    Parameters
    ----------
    number_of_parameters: of the PrimFunc.
    length: positions, at least 1.
    parameters: index of a parameter that is accessed -> its first and last position.
    parameter_use: what is done to each parameter.
    escaping_parameters: those whose address is kept.
    allocations: in program order; several spans where the enclosing PrimFunc is called several
        times.
    allocation_use: what is done to each allocation.
    functions: the name of the PrimFunc that an allocation stands in.
    unplannable: allocations that several iterations may hold at the same time.
    pieces: all that is known by a number, the parameters first.
    statements: the outermost statements.
    has_loaded_layouts: whether memory is read to find elements of some buffer.
    """

    number_of_parameters: int
    length: int
    parameters: Mapping[int, Span]
    parameter_use: Mapping[int, MemoryUse]
    escaping_parameters: AbstractSet[int]
    allocations: Mapping[tirx.AllocBuffer, Sequence[Span]]
    allocation_use: Mapping[tirx.AllocBuffer, MemoryUse]
    functions: Mapping[tirx.AllocBuffer, str]
    unplannable: AbstractSet[tirx.AllocBuffer]
    pieces: Sequence[Piece]
    statements: Sequence[StatementLiveness]
    has_loaded_layouts: bool


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """Sorted, disjoint, non-adjacent spans that cover the same positions."""
    merged: list[Span] = []
    for start, stop in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], stop))
        else:
            merged.append((start, stop))
    return merged
