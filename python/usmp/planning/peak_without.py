"""The peak of a pool if one operator needed no memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from usmp.objects import BufferInfo, LiveRange
from usmp.objects.buffer_problem import problem_of
from usmp.planning.peak_position import peak_position
from usmp_solver import solve


@dataclass(frozen=True)
class PeakWithout:
    """The plan of a pool in which an operator takes no memory.

    Parameters
    ----------
    peak_bytes
        peak of that plan, in bytes.
    position
        a program position at which the bytes below the peak are in use; None if no buffer remains.
    is_optimal
        whether it is proved that no plan of these buffers is lower.
    """

    peak_bytes: int
    position: int | None
    is_optimal: bool


def peak_without(
    buffers: Sequence[BufferInfo], pool_name: str, start: int, stop: int
) -> PeakWithout:
    """Plan the buffers of a pool as if none were live at the positions of an operator.

    Buffers that are live only at these positions are left out. Buffers that are live before and
    after them may share bytes with other buffers in between. Conflicts, safe overlaps and
    alignments stay as they are.

    Parameters
    ----------
    buffers
        all buffers in the pool.
    pool_name
        name of the pool.
    start, stop
        half-open range of the positions of the operator.
    """
    kept: dict[BufferInfo, BufferInfo] = {}
    for buffer in buffers:
        ranges = _without(buffer.live_ranges, start, stop)
        if (ranges or not buffer.live_ranges) and buffer.size_bytes > 0:
            pools = [pool for pool in buffer.pool_candidates if pool.pool_name == pool_name]
            kept[buffer] = buffer.copy_with(pools, ranges)
    if not kept:
        return PeakWithout(0, None, True)
    _relate(kept)
    copies = list(kept.values())
    problem = problem_of(copies)
    solution = solve(problem)
    ends = [int(o) + int(b.size_bytes) for o, b in zip(solution.offsets, copies, strict=True)]
    return PeakWithout(max(ends), peak_position(copies, ends), solution.is_optimal)


def _relate(kept: dict[BufferInfo, BufferInfo]) -> None:
    """Set the conflicts that remain between the copies, and the safe overlaps of the copies."""
    conflicts: dict[BufferInfo, list[BufferInfo]] = {copy: [] for copy in kept.values()}
    for one, other in combinations(kept, 2):
        conflict = one in other.conflicts or other in one.conflicts
        # Conflicts that do not follow from live ranges hold at all positions.
        lasting = conflict and not one.is_live_with(other)
        if lasting or kept[one].is_live_with(kept[other]):
            conflicts[kept[one]].append(kept[other])
            conflicts[kept[other]].append(kept[one])
    for buffer, copy in kept.items():
        copy.set_conflicts(conflicts[copy])
        copy.set_overlaps({kept[o]: int(d) for o, d in buffer.overlaps.items() if o in kept})


def _without(ranges: Sequence[LiveRange], start: int, stop: int) -> list[LiveRange]:
    """Return the live ranges without the positions of an operator."""
    remaining = []
    for live in ranges:
        for first, last in (
            (live.start, min(live.stop, start)),
            (max(live.start, stop), live.stop),
        ):
            if first < last:
                remaining.append(LiveRange(first, last))
    return remaining
