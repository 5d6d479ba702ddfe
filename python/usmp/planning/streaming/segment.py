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
        what it does.
    func
        the PrimFunc that it calls, if that is all that it does.
    loop
        its PrimFunc as a loop; None if it is none, or does more than read and write what
        it is called with.
    memories
        by index of a parameter, the memory to whose first byte it points.
    """

    statement: MainStatement
    func: tirx.PrimFunc | None
    loop: OperatorLoop | None
    memories: Mapping[int, Memory]

    def reads(self, memory: Memory) -> bool:
        """Whether it may read a memory that it is called with."""
        assert self.loop is not None
        return any(m.same_as(memory) and i in self.loop.reads for i, m in self.memories.items())

    def written_by(self, memory: Memory) -> int | None:
        """The parameter by which it writes a memory, if that is one that it does not read."""
        assert self.loop is not None
        indices = [i for i, m in self.memories.items() if m.same_as(memory)]
        is_only = len(indices) == 1 and indices[0] in self.loop.writes
        return indices[0] if is_only and indices[0] not in self.loop.reads else None


@dataclass(frozen=True, eq=False)
class Segment:
    """Operators of a main function that follow each other, and how they run interleaved.

    Parameters
    ----------
    operators
        in their order.
    inside
        the memories that nothing else uses, with the annotations of their allocations.
    tensors
        the memories that one of them writes and others read, of which rings may be kept.
    interleaving
        of the operators.
    makers
        of the memories that one of them writes and others read: its position among them.
    work
        about how many instructions the operators take.
    """

    operators: Sequence[MainOperator]
    inside: Mapping[Memory, Mapping[str, object]]
    tensors: Sequence[Memory]
    interleaving: Interleaving
    makers: Mapping[Memory, int]
    work: int

    @property
    def rings(self) -> Mapping[Memory, Ring]:
        """The rings of the tensors of which not all is kept."""
        return {self.tensors[tensor]: ring for tensor, ring in self.interleaving.rings.items()}


def interleaving_instructions(segment: Segment) -> int:
    """About how many instructions it takes to run operators interleaved, beside their own: to move
    what rings keep, and in each tick of a column to ask what is made and where."""
    found = segment.interleaving
    moved = sum(
        ring.moved_bytes(found.timings[segment.makers[memory]].parts)
        for memory, ring in segment.rings.items()
    )
    made = sum(timing.parts for timing in found.timings)
    ticks = found.ticks * found.columns
    return moved // 8 + ticks * len(segment.operators) * 6 + made * 20
