"""The cost of accesses to a pool, in clock cycles.

A target moves memory in bursts: one element, or as many consecutive bytes as `target_burst_bytes`
says, if these are more. A burst of n bytes takes `latency + ceil(n / bandwidth)` cycles of the
pool's clock; where the bandwidth is unknown, the second term is 1. A larger access, such as of a
vector or by a function outside of the module, takes as many bursts as it needs. Two accesses never
share a burst, because the target may access something else between them: caches and prefetchers
are ignored.

Pools may have clocks of their own, so costs are compared in units of time. They are reported in
cycles of the fastest clock. A pool without a known clock is assumed to have the fastest one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import lcm

from usmp.objects import BufferInfo, PoolAllocation, PoolInfo
from usmp.objects.access_count import AccessCount, AccessCounts
from usmp.objects.target.targets import is_target


@dataclass(frozen=True)
class AccessCosts:
    """The costs of each buffer in each pool, as exact integers.

    Parameters
    ----------
    counts
        the accesses of each buffer.
    clock_frequency_hz
        the fastest clock of the pools, or -1 if none is known.
    units
        pool name -> units of time in one cycle of the pool.
    """

    counts: AccessCounts
    clock_frequency_hz: int
    units: Mapping[str, int]

    def cost(self, buffer: BufferInfo, pool: PoolInfo) -> int:
        """Return the units of time for the accesses of `buffer` if it lies in `pool`."""
        return self.units[str(pool.pool_name)] * access_cycles(pool, self.counts.get(buffer, ()))

    def cost_of_plan(self, plan: Mapping[BufferInfo, PoolAllocation]) -> int:
        """Return the units of time for all accesses of a plan."""
        return sum(self.cost(buffer, allocation.pool_info) for buffer, allocation in plan.items())

    def cycles(self, cost: int) -> int:
        """Return a cost in cycles of the fastest clock, rounded up."""
        return -(-cost // min(self.units.values(), default=1))


def access_costs(counts: AccessCounts) -> AccessCosts:
    """Return the costs of buffers in all their candidate pools."""
    pools = {str(pool.pool_name): pool for info in counts for pool in info.pool_candidates}
    clocks = {name: int(pool.clock_frequency_hz) for name, pool in pools.items()}
    known = [clock for clock in clocks.values() if clock > 0]
    fastest, unit = max(known, default=1), lcm(*known)
    units = {name: unit // (clock if clock > 0 else fastest) for name, clock in clocks.items()}
    return AccessCosts(counts, fastest if known else -1, units)


def access_cycles(pool: PoolInfo, counts: Sequence[AccessCount]) -> int:
    """Return the cycles of the pool's own clock for the accesses."""
    cycles = 0
    for count in counts:
        burst = max(count.element_bytes, _burst_bytes(pool, count))
        for times, latency, bandwidth in (
            (count.reads, pool.read_latency_cycles, pool.read_bandwidth_bytes_per_cycle),
            (count.writes, pool.write_latency_cycles, pool.write_bandwidth_bytes_per_cycle),
        ):
            if times:
                cycles += times * _cycles(count.size_bytes, burst, int(latency), int(bandwidth))
    return cycles


def _cycles(size_bytes: int, burst_bytes: int, latency: int, bandwidth: int) -> int:
    """Return the cycles of one access."""
    whole, rest = divmod(size_bytes, burst_bytes)
    bursts: Iterable[tuple[int, int]] = (
        [(whole, burst_bytes), (1, rest)] if rest else [(whole, burst_bytes)]
    )
    return sum(
        n * (latency + (-(-size // bandwidth) if bandwidth > 0 else 1)) for n, size in bursts
    )


def _burst_bytes(pool: PoolInfo, count: AccessCount) -> int:
    if count.target is not None:
        for listed, burst in pool.target_burst_bytes.items():
            if is_target(listed, count.target):
                return burst
    return 1


def has_speed(pool: PoolInfo) -> bool:
    """Return whether the user gave any property about the speed of a pool."""
    known = (
        pool.clock_frequency_hz,
        pool.read_bandwidth_bytes_per_cycle,
        pool.write_bandwidth_bytes_per_cycle,
        pool.read_latency_cycles,
        pool.write_latency_cycles,
    )
    return any(value > 0 for value in known)
