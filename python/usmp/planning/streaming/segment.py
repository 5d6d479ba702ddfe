"""Operators of a main function that follow each other, and how they run interleaved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tvm import tirx

from usmp.analysis.memory.main_statements import MainStatement
from usmp.analysis.memory.memories import Memory
from usmp.planning.streaming.interleaving import Interleaving
from usmp.planning.streaming.operator_loop import OperatorLoop
from usmp.planning.streaming.timing import Ring


@dataclass(frozen=True, eq=False)
class MainOperator:
    """A statement of a main function.

    Parameters
    ----------
    statement
        the statement, with its accesses.
    func
        the PrimFunc that the statement calls; None if the statement is not a call of a PrimFunc.
    loop
        the PrimFunc as a loop; None if it cannot run interleaved, see `read_main`.
    memories
        by index of a parameter, the memory to whose first byte the argument points.
    """

    statement: MainStatement
    func: tirx.PrimFunc | None
    loop: OperatorLoop | None
    memories: Mapping[int, Memory]

    def reads(self, memory: Memory) -> bool:
        """Return whether a parameter that points to a memory's first byte is known to be read."""
        assert self.loop is not None
        return any(m.same_as(memory) and i in self.loop.reads for i, m in self.memories.items())

    def written_by(self, memory: Memory) -> int | None:
        """Return the index of the only parameter that points to a memory, if it is written and not
        read; else None."""
        assert self.loop is not None
        indices = [i for i, m in self.memories.items() if m.same_as(memory)]
        is_only = len(indices) == 1 and indices[0] in self.loop.writes
        return indices[0] if is_only and indices[0] not in self.loop.reads else None


@dataclass(frozen=True, eq=False)
class Segment:
    """Consecutive operators of a main function, and how they run interleaved.

    Parameters
    ----------
    operators
        the operators in program order.
    inside
        the memories that only the segment uses, with the annotations of their allocations.
    tensors
        the memories of `inside` that an operator writes and others read; a ring can replace each.
    interleaving
        schedule of the operators.
    makers
        position in the segment of the operator that writes each memory that others read.
    work
        approximate number of instructions of the operators.
    """

    operators: Sequence[MainOperator]
    inside: Mapping[Memory, Mapping[str, object]]
    tensors: Sequence[Memory]
    interleaving: Interleaving
    makers: Mapping[Memory, int]
    work: int

    @property
    def rings(self) -> Mapping[Memory, Ring]:
        """The ring of each tensor that is not allocated whole."""
        return {self.tensors[tensor]: ring for tensor, ring in self.interleaving.rings.items()}


def interleaving_instructions(segment: Segment) -> int:
    """Return an estimate of the instructions of interleaving: copies in rings, and conditions."""
    interleaving = segment.interleaving
    moved = sum(
        ring.moved_bytes(interleaving.timings[segment.makers[memory]].parts)
        for memory, ring in segment.rings.items()
    )
    parts = sum(timing.parts for timing in interleaving.timings)
    ticks = interleaving.ticks * interleaving.columns
    return moved // 8 + ticks * len(segment.operators) * 6 + parts * 20
