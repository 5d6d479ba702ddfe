"""Where would the peak of a pool be, if one operator needed no memory?"""

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
    """The plan of a pool where an operator takes nothing.

    Parameters
    ----------
    peak_bytes
        of that plan.
    position
        a program position at which the bytes below the peak are in use; None if nothing is left.
    is_optimal
        it is proved that no plan of these buffers is lower.
    """

    peak_bytes: int
    position: int | None
    is_optimal: bool


def peak_without(
    buffers: Sequence[BufferInfo], pool_name: str, start: int, stop: int
) -> PeakWithout:
    """Plan the buffers of a pool as if nothing had to be there at some positions.

    What is live only there is left out; what is live before and after may lie there where others
    are meanwhile. Everything else is as it was: conflicts, safe overlaps, alignments.

    Parameters
    ----------
    buffers
        all that are in the pool.
    pool_name
        of the pool.
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
    """Give the copies the conflicts that are left, and the overlaps of these."""
    conflicts: dict[BufferInfo, list[BufferInfo]] = {copy: [] for copy in kept.values()}
    for one, other in combinations(kept, 2):
        conflict = one in other.conflicts or other in one.conflicts
        # Some conflicts do not follow from live ranges: these hold at any time.
        lasting = conflict and not one.is_live_with(other)
        if lasting or kept[one].is_live_with(kept[other]):
            conflicts[kept[one]].append(kept[other])
            conflicts[kept[other]].append(kept[one])
    for buffer, copy in kept.items():
        copy.set_conflicts(conflicts[copy])
        copy.set_overlaps({kept[o]: int(d) for o, d in buffer.overlaps.items() if o in kept})


def _without(ranges: Sequence[LiveRange], start: int, stop: int) -> list[LiveRange]:
    """What is left of live ranges before and after an operator."""
    left = []
    for live in ranges:
        for first, last in (
            (live.start, min(live.stop, start)),
            (max(live.start, stop), live.stop),
        ):
            if first < last:
                left.append(LiveRange(first, last))
    return left
