"""When is a pool as full as its peak?"""

from __future__ import annotations

from collections.abc import Sequence

from usmp.objects import BufferInfo
from usmp.objects.buffer_problem import problem_of
from usmp_solver import lower_bound


def peak_position(buffers: Sequence[BufferInfo], ends: Sequence[int]) -> int | None:
    """The program position that makes a pool as large as it is; None if nothing is in it.

    Of the positions at which the highest byte is in use, it is the one at which what is live needs
    most; of these the one with most live bytes, then the first. Where a buffer lies high because of
    another time, its own time needs less.

    Parameters
    ----------
    buffers
        in the pool.
    ends
        where each of them ends, in bytes from the start of the pool.
    """
    peak = max(ends, default=0)
    starts = sorted({int(live.start) for buffer in buffers for live in buffer.live_ranges})
    needs: dict[tuple[int, ...], int] = {}
    best, most = None, (-1, -1)
    for position in starts:
        live = tuple(n for n, buffer in enumerate(buffers) if is_live(buffer, position))
        if not any(ends[n] == peak for n in live):
            continue
        if live not in needs:
            needs[live] = lower_bound(problem_of([buffers[n] for n in live]))
        found = needs[live], sum(int(buffers[n].size_bytes) for n in live)
        if found > most:
            best, most = position, found
    return best


def is_live(buffer: BufferInfo, position: int) -> bool:
    """Whether its content matters there."""
    return any(live.start <= position < live.stop for live in buffer.live_ranges)
