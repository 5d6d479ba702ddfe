"""The program position at which a pool reaches its peak."""

from __future__ import annotations

from collections.abc import Sequence

from usmp.objects import BufferInfo
from usmp.objects.buffer_problem import problem_of
from usmp_solver import lower_bound


def peak_position(buffers: Sequence[BufferInfo], ends: Sequence[int]) -> int | None:
    """Return the program position that causes the peak of a pool; None if the pool is empty.

    The highest byte can be in use at several positions. The cause is the one whose live buffers
    have the highest lower bound; of equal ones, the one with most live bytes, or else the first. A
    buffer can lie high because of another position, where the lower bound is higher.

    Parameters
    ----------
    buffers
        the buffers in the pool.
    ends
        end address of each buffer, in bytes from the start of the pool.
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
        score = needs[live], sum(int(buffers[n].size_bytes) for n in live)
        if score > most:
            best, most = position, score
    return best


def is_live(buffer: BufferInfo, position: int) -> bool:
    """Return whether the content of a buffer matters at a position."""
    return any(live.start <= position < live.stop for live in buffer.live_ranges)
