"""What is proved of the peaks of a plan, whoever made it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from usmp.analysis.memory_pressure import memory_pressure
from usmp.objects import BufferInfo, PoolAllocation, PoolBound


def pool_bounds(
    buffers: Sequence[BufferInfo],
    plan: Mapping[BufferInfo, PoolAllocation],
    lower_bounds: Mapping[str, int] | None = None,
) -> dict[str, PoolBound]:
    """The bound of each pool that the plan uses, by name.

    Parameters
    ----------
    buffers: what is placed.
    plan: where.
    lower_bounds: what the algorithm itself proved, by name of the pool, in bytes; None if it
        proves nothing. Then the bound is what the buffers of the pool need at one time, and the
        peak is known to be optimal only if those of them need as much that can be nowhere else: in
        no pool but this one and less preferred ones that are empty.
    """
    held: dict[str, list[BufferInfo]] = {}
    for buffer in buffers:
        held.setdefault(str(plan[buffer].pool_info.pool_name), []).append(buffer)
    preferred = {
        (str(better.pool_name), str(worse.pool_name))
        for candidates in {tuple(buffer.pool_candidates) for buffer in buffers}
        for better, worse in combinations(candidates, 2)
    }

    def is_tied_to(name: str, buffer: BufferInfo) -> bool:
        others = {str(pool.pool_name) for pool in buffer.pool_candidates} - {name}
        return not any(other in held or (other, name) in preferred for other in others)

    bounds = {}
    for name, members in sorted(held.items()):
        peak = max(plan[buffer].byte_offset + buffer.size_bytes for buffer in members)
        if lower_bounds is not None:
            bound = proved = lower_bounds[name]
        else:
            bound = _needed(members)
            proved = _needed(b for b in members if is_tied_to(name, b))
        bounds[name] = PoolBound(bound, proved == peak)
    return bounds


def _needed(buffers: Iterable[BufferInfo]) -> int:
    """Bytes that a pool must have to hold these buffers.

    One that may overlap a dying input is left out; what the others need is needed all the same.
    """
    disjoint = [buffer for buffer in buffers if not buffer.overlaps]
    pinned = [b.fixed_offset + b.size_bytes for b in disjoint if b.fixed_offset is not None]
    return max([memory_pressure(disjoint), *pinned])
