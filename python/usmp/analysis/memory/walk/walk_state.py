"""The state of the liveness fold: memories, statements and loops."""

from __future__ import annotations

from dataclasses import dataclass, field

from tvm import tirx

from usmp.analysis.memory.access import Access, MemoryUse
from usmp.analysis.memory.function_liveness import PositionRange
from usmp.analysis.memory.memories import Memory
from usmp.analysis.memory.walk.events import Region


@dataclass
class MemoryState:
    """A memory and its accesses so far.

    Parameters
    ----------
    loop_depth
        number of loops around its AllocBuffer, the smallest if there are several; 0 for a
        parameter.
    allocations
        its AllocBuffers.
    escaped
        whether its address escapes.
    use
        its accesses.
    """

    loop_depth: int = 0
    allocations: list[tirx.AllocBuffer] = field(default_factory=list)
    escaped: bool = False
    use: MemoryUse = field(default_factory=MemoryUse)


@dataclass
class Statement:
    """A top-level statement, and its accesses so far."""

    stmt: tirx.Stmt
    start: int
    ranges: dict[Memory, PositionRange] = field(default_factory=dict)
    accesses: dict[Memory, Access] = field(default_factory=dict)
    allocated: list[Memory] = field(default_factory=list)
    allocations: dict[tirx.AllocBuffer, list[PositionRange]] = field(default_factory=dict)

    def touch(self, memory: Memory, start: int, stop: int) -> None:
        """Extend the live range of a memory in this statement to these positions."""
        low, high = self.ranges.get(memory, (start, stop))
        self.ranges[memory] = (min(low, start), max(high, stop))

    def access(self, memory: Memory, access: Access) -> None:
        """Record an access to a memory."""
        self.accesses[memory] = self.accesses.get(memory, Access.NONE) | access


@dataclass
class Loop:
    """A region around the current event; `times` is how often the statement around it runs."""

    region: Region
    start: int
    times: int
    touched: set[Memory] = field(default_factory=set)
