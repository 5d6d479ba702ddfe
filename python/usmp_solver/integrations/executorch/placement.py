"""Placement of blocks and regions in one memory by the solver."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from usmp_solver.buffers import Pool
from usmp_solver.columns import column, first_of
from usmp_solver.integrations.executorch.blocks import Block
from usmp_solver.integrations.executorch.control_flow import Region
from usmp_solver.integrations.executorch.tensors import Spec
from usmp_solver.live_bytes import most_live_bytes
from usmp_solver.problem import Problem
from usmp_solver.solution import Solution
from usmp_solver.solver import solve


@dataclass(frozen=True, eq=False)
class Item:
    """A block or a region to place.

    Parameters
    ----------
    size
        bytes.
    live
        half-open ranges of nodes.
    tensors
        tensors in the item, each with its first byte there.
    offset
        required first byte, or None.
    """

    size: int
    live: Sequence[tuple[int, int]]
    tensors: dict[Spec, int]
    offset: int | None = None


def items_by_memory(blocks: Iterable[Block], regions: Iterable[Region]) -> dict[int, list[Item]]:
    """Return the items of each memory, in an order that is independent of set order."""
    items: dict[int, list[Item]] = {}
    for block in blocks:
        item = Item(block.size, [(block.first, block.last + 1)], block.members)
        items.setdefault(block.memory, []).append(item)
    for region in regions:
        item = Item(region.size, region.live, region.tensors, region.offset)
        items.setdefault(region.memory, []).append(item)
    for of_memory in items.values():
        of_memory.sort(key=lambda item: (sorted(item.live), -item.size))
    return dict(sorted(items.items()))


def solve_memory(
    items: Sequence[Item], memory: int, alignment: int, algorithm: str, work_budget: int | None
) -> Solution:
    """Solve one memory. The plan has passed the solver's independent check."""
    problem = Problem(
        names=[f"{number}" for number in range(len(items))],
        pools=(Pool(f"memory {memory}"),),
        sizes=column(item.size for item in items),
        live_first=first_of([item.live for item in items]),
        live_starts=column(start for item in items for start, _ in item.live),
        live_stops=column(stop for item in items for _, stop in item.live),
        alignments=column(alignment for _ in items),
        fixed_offsets=column(-1 if item.offset is None else item.offset for item in items),
    )
    return solve(problem, algorithm=algorithm, work_budget=work_budget)


def live_bytes(items: Sequence[Item]) -> int:
    """Return the memory pressure in bytes: a lower bound of any plan."""
    return most_live_bytes((item.size, item.live) for item in items)
