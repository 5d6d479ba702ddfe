"""The bytes that a dying tensor and a new tensor of one call may share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from usmp.analysis.memory.facts import FunctionFacts
from usmp.analysis.memory.memories import Memory
from usmp.planning.operator_order.graph import GraphTensor


@dataclass(frozen=True)
class MemoryOfCallee:
    """The memory in a callee that holds a tensor, or a part of one.

    Parameters
    ----------
    memory
        a parameter of the callee, or a buffer that it allocates.
    byte_offset
        start of the memory in the tensor, in bytes.
    """

    memory: Memory
    byte_offset: int = 0


@dataclass(frozen=True)
class ReuseBytes(Mapping[tuple[int, int], int]):
    """(y, x) -> bytes that the dying tensor y and the new tensor x of a call can share safely.

    Each value is computed when it is read.

    Parameters
    ----------
    callee
        facts of the PrimFunc that is called.
    memories
        for each tensor that the call uses, its known memories in the PrimFunc.
    tensors
        tensors of the graph, by index.
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
        overlap = self.callee.overlap
        distance = max(
            overlap.relative_distance(dying.memory, written.memory)
            + written.byte_offset
            - dying.byte_offset
            for dying in self.memories[y]
            for written in self.memories[x]
        )
        size = self.tensors[x].size_bytes
        return max(0, min(self.tensors[y].size_bytes, size - max(distance, 0)))
