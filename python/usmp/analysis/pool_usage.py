"""What a finished plan makes of each pool: its peak, the lower bound, who is live at the peak."""

from __future__ import annotations

from dataclasses import dataclass

from usmp.analysis.memory_pressure import memory_pressure
from usmp.objects import MemoryPlan, PlacedBuffer


@dataclass(frozen=True)
class PoolUsage:
    """The use of one pool, in bytes.

    Parameters
    ----------
    pool_name: the pool.
    peak_bytes: highest end address used.
    pressure_bytes: most bytes live at once among the buffers of this pool: without overlap of
        live buffers no plan that puts the same buffers here has a smaller peak.
    live_at_peak: the buffers live when the highest address is in use, in address order.
    """

    pool_name: str
    peak_bytes: int
    pressure_bytes: int
    live_at_peak: list[PlacedBuffer]


def pool_usage(plan: MemoryPlan) -> list[PoolUsage]:
    """The use of each pool of the plan, by name."""
    pools: dict[str, list[PlacedBuffer]] = {}
    for buffer in plan.buffers:
        pools.setdefault(str(buffer.pool_name), []).append(buffer)
    return [
        PoolUsage(
            name,
            max(b.byte_offset + b.size_bytes for b in buffers),
            memory_pressure(buffers),
            _live_at_peak(buffers),
        )
        for name, buffers in sorted(pools.items())
    ]


def _live_at_peak(buffers: list[PlacedBuffer]) -> list[PlacedBuffer]:
    """At the position where the highest address is in use, and most bytes are, if there are
    several such positions."""
    peak = max(b.byte_offset + b.size_bytes for b in buffers)
    highest = [
        live for b in buffers if b.byte_offset + b.size_bytes == peak for live in b.live_ranges
    ]
    positions = {
        live.start
        for b in buffers
        for live in b.live_ranges
        if any(top.start <= live.start < top.stop for top in highest)
    }
    best: list[PlacedBuffer] = []
    for position in sorted(positions):
        live_now = [b for b in buffers if any(r.start <= position < r.stop for r in b.live_ranges)]
        if sum(b.size_bytes for b in live_now) > sum(b.size_bytes for b in best):
            best = live_now
    return sorted(best, key=lambda b: (b.byte_offset, b.name))
