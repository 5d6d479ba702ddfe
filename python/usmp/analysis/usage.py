"""The use of each pool by a plan: its peak, the lower bound, and the buffers live at the peak."""

from __future__ import annotations

from dataclasses import dataclass

from usmp.analysis.memory.function_liveness import merge_ranges
from usmp.analysis.pressure import memory_pressure
from usmp.objects import MemoryPlan, PlacedBuffer
from usmp.objects.memory_plan import buffers_by_pool


@dataclass(frozen=True)
class PoolUsage:
    """The use of one pool, in bytes.

    Parameters
    ----------
    pool_name
        name of the pool.
    peak_bytes
        highest end address in use.
    pressure_bytes
        most bytes of the pool's buffers that are live at once. The peak is smaller only if live
        buffers overlap.
    live_at_peak
        the buffers that are live when the highest address is in use, in address order. If they
        overlap, their sizes add up to more than the peak.
    """

    pool_name: str
    peak_bytes: int
    pressure_bytes: int
    live_at_peak: list[PlacedBuffer]


def pool_usage(plan: MemoryPlan) -> list[PoolUsage]:
    """Return the use of each pool of the plan, in order of the names."""
    return [
        PoolUsage(
            name,
            max(b.byte_offset + b.size_bytes for b in buffers),
            memory_pressure(buffers),
            _live_at_peak(buffers),
        )
        for name, buffers in buffers_by_pool(plan.buffers).items()
    ]


def _live_at_peak(buffers: list[PlacedBuffer]) -> list[PlacedBuffer]:
    """Return the buffers that are live at a position where the highest address is in use.

    Among several positions, take the one with the most live bytes, because it shows overlaps."""
    ends = [b.byte_offset + b.size_bytes for b in buffers]
    peak = max(ends)
    changes: dict[int, list[tuple[int, bool]]] = {}
    for index, buffer in enumerate(buffers):
        for live in merge_ranges((r.start, r.stop) for r in buffer.live_ranges):
            for position, starts in zip(live, (True, False), strict=True):
                changes.setdefault(position, []).append((index, starts))
    live_now: dict[int, None] = {}
    live_bytes = most_bytes = tops = 0
    best: list[PlacedBuffer] = []
    for position in sorted(changes):
        for index, starts in changes[position]:
            if starts:
                live_now[index] = None
            else:
                del live_now[index]
            sign = 1 if starts else -1
            live_bytes += sign * buffers[index].size_bytes
            tops += sign * (ends[index] == peak)
        if tops and live_bytes > most_bytes:
            most_bytes = live_bytes
            best = [buffers[index] for index in live_now]
    return sorted(best, key=lambda b: (b.byte_offset, b.name))
