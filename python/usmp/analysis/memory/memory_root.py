"""Pieces of memory, statements and loops, while a PrimFunc is walked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from tvm import tirx

from usmp.analysis.memory.access import Access, MemoryUse
from usmp.analysis.memory.function_liveness import Span


@dataclass(eq=False)
class Root:
    """A piece of memory: a parameter (`index`) or one execution of an AllocBuffer (`stmt`).

    Parameters
    ----------
    number: among the pieces of memory.
    """

    number: int
    loop_depth: int
    index: int | None = None
    stmt: tirx.AllocBuffer | None = None
    escapes: bool = False
    use: MemoryUse = field(default_factory=MemoryUse)


@dataclass
class Outermost:
    """The outermost statement that the walk is in, and what it has done to memory so far."""

    stmt: tirx.Stmt
    start: int
    spans: dict[Root, Span] = field(default_factory=dict)
    accesses: dict[Root, Access] = field(default_factory=dict)
    roots: list[Root] = field(default_factory=list)
    allocations: dict[tirx.AllocBuffer, list[Span]] = field(default_factory=dict)
    arguments: list[list[Roots]] = field(default_factory=list)

    def touch(self, root: Root, start: int, stop: int) -> None:
        low, high = self.spans.get(root, (start, stop))
        self.spans[root] = (min(low, start), max(high, stop))

    def access(self, root: Root, access: Access) -> None:
        self.accesses[root] = self.accesses.get(root, Access.NONE) | access


@dataclass
class Loop:
    """A loop that the walk is in; `stmt` if its bounds are known."""

    start: int
    concurrent: bool
    trips: int = 1
    stmt: tirx.For | None = None
    touched: set[Root] = field(default_factory=set)


Roots: TypeAlias = frozenset[Root]
