"""How many bytes may two tensors share, of which a call uses one for the last time and writes the
other for the first?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from usmp.analysis.memory.facts import FunctionFacts
from usmp.analysis.memory.memories import Memory
from usmp.planning.operator_order.graph import GraphTensor


@dataclass(frozen=True)
class MemoryOfCallee:
    """What a tensor, or a part of it, is to the PrimFunc that is called.

    Parameters
    ----------
    memory
        a parameter, or a buffer that is allocated there.
    byte_offset
        of its begin in the tensor.
    """

    memory: Memory
    byte_offset: int = 0


@dataclass(frozen=True)
class ReuseBytes(Mapping[tuple[int, int], int]):
    """(y, x) -> the bytes that a call saves if tensor x starts as little below y as it may.

    Each is found when it is asked for.

    Parameters
    ----------
    callee
        what is known of the PrimFunc that is called.
    memories
        the tensors that the call uses, as far as it is known what they are to the PrimFunc.
    tensors
        by index.
    """

    callee: FunctionFacts
    memories: Mapping[int, Sequence[MemoryOfCallee]]
    tensors: Sequence[GraphTensor]

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return ((y, x) for y in self.memories for x in self.memories if y != x)

    def __len__(self) -> int:
        return len(self.memories) * (len(self.memories) - 1)

    def __getitem__(self, pair: tuple[int, int]) -> int:
        y, x = pair
        if y == x:
            raise KeyError(pair)
        found = self.callee.overlap
        distance = max(
            found.relative_distance(dying.memory, written.memory)
            + written.byte_offset
            - dying.byte_offset
            for dying in self.memories[y]
            for written in self.memories[x]
        )
        size = self.tensors[x].size_bytes
        return max(0, min(self.tensors[y].size_bytes, size - max(distance, 0)))
