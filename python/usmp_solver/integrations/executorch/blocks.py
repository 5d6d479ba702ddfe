"""Blocks: tensors that share one place and are placed as one buffer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from usmp_solver.integrations.executorch.tensors import Spec, base_of, memory_of


@dataclass(eq=False)
class Block:
    """Bytes that several tensors share.

    Parameters
    ----------
    memory
        number of the memory that contains it.
    size
        bytes.
    first, last
        first and last node of the graph at which one of its tensors is live.
    members
        tensors, each with its first byte in the block.
    """

    memory: int
    size: int
    first: int
    last: int
    members: dict[Spec, int] = field(default_factory=dict)

    def add(self, other: Block, offset: int = 0) -> None:
        """Merge the other block into this one."""
        self.first = min(self.first, other.first)
        self.last = max(self.last, other.last)
        for member, begin in other.members.items():
            self.members[member] = begin + offset


def blocks_of(tensors: Iterable[Spec]) -> dict[Spec, Block]:
    """Return the block of each tensor: a base tensor with all tensors that lie inside it.

    ExecuTorch marks the inner tensors with `storage_base`. A block is live from the first
    node of its members to the last, because content remains between the uses of its members.
    """
    blocks: dict[Spec, Block] = {}
    for spec in tensors:
        root, offset = spec, 0
        while root.storage_base is not None:
            offset += root.storage_base_offset
            root = base_of(root.storage_base)
        first, last = spec.lifetime
        block = blocks.setdefault(root, Block(memory_of(root), root.allocated_memory, first, last))
        block.add(Block(block.memory, spec.allocated_memory, first, last, {spec: 0}), offset)
        blocks[spec] = block
    return blocks
