"""Pieces of memory, and the loops around a statement, while a PrimFunc is walked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from tvm import tirx

from usmp.analysis.access import MemoryUse
from usmp.analysis.function_liveness import Span


@dataclass(eq=False)
class Root:
    """A piece of memory: a parameter (`index`) or one execution of an AllocBuffer (`stmt`)."""

    loop_depth: int
    index: int | None = None
    stmt: tirx.AllocBuffer | None = None
    span: Span | None = None
    escapes: bool = False
    use: MemoryUse = field(default_factory=MemoryUse)

    def touch(self, start: int, stop: int) -> None:
        low, high = self.span or (start, stop)
        self.span = (min(low, start), max(high, stop))


@dataclass
class Loop:
    """A loop that the walk is in; `stmt` if its bounds are known."""

    start: int
    concurrent: bool
    trips: int = 1
    stmt: tirx.For | None = None
    touched: set[Root] = field(default_factory=set)


Roots: TypeAlias = frozenset[Root]
