"""Proved lower bounds of the peaks of a plan, whatever algorithm made it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from usmp.objects import BufferInfo, PoolAllocation, PoolBound
from usmp.objects.buffer_problem import problem_of
from usmp_solver import lower_bound


def pool_bounds(
    buffers: Sequence[BufferInfo],
    plan: Mapping[BufferInfo, PoolAllocation],
    lower_bounds: Mapping[str, int] | None = None,
) -> dict[str, PoolBound]:
    """Return the lower bound of each pool that the plan uses, by name.

    Without `lower_bounds`, the solver bounds the buffers of each pool, with their safe overlaps.
    A buffer is tied to its pool if its other candidate pools are less preferred and empty. The peak
    is optimal if it equals the bound of the tied buffers.

    Parameters
    ----------
    buffers
        the buffers that are placed.
    plan
        the place of each buffer.
    lower_bounds
        bounds that the algorithm itself proved, by name of the pool, in bytes; else None.
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
            bound = _bound(members)
            proved = _bound([b for b in members if is_tied_to(name, b)])
        bounds[name] = PoolBound(bound, proved == peak)
    return bounds


def _bound(members: Sequence[BufferInfo]) -> int:
    """Return a lower bound of the bytes that one pool of any size needs for these buffers."""
    return lower_bound(problem_of(members)) if members else 0
