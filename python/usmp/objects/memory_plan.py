"""A finished plan as plain data, for reports and metadata of a planned module."""

from __future__ import annotations

from collections.abc import Iterable

from tvm_ffi.dataclasses import field, py_class

from usmp.names import PREFERENCE
from usmp.objects.buffers import LiveRange
from usmp.objects.ffi_object import FFIObject
from usmp.plain.buffer_place import BufferPlace


@py_class("usmp.PlacedBuffer", frozen=True)
class PlacedBuffer(FFIObject, BufferPlace):
    """A buffer with its `BufferPlace`, and the facts that permit this place.

    Parameters
    ----------
    live_ranges
        half-open ranges of program positions in which its content matters.
    identical
        names of other constants with the same content, which lie in the same bytes.
    overlaps
        names of dying buffers whose bytes it overwrites while both are live, each with the minimum
        distance in bytes from its start up to the start of the dying buffer.
    """

    live_ranges: list[LiveRange]
    identical: list[str]
    overlaps: dict[str, int] = field(default_factory=dict)


@py_class("usmp.AccessEstimate")
class AccessEstimate(FFIObject):
    """The estimated cycles of all accesses of one run to planned memory, at the fastest clock.

    `usmp.analysis.access_counts` counts the accesses, and `usmp.algorithms.access_cost` has their
    costs.

    Parameters
    ----------
    cycles
        cycles of this plan.
    cycles_by_preference
        cycles with pools in the user's order of preference; None if the buffers do not fit.
    cycles_by_cost
        cycles with pools selected by cost.
    lower_bound_cycles
        a lower bound for all plans within the size hints.
    clock_frequency_hz
        the fastest clock of the pools in hertz; -1 if none is known.
    pool_cycles
        cycles of the accesses to each pool in this plan, by name.
    """

    cycles: int
    cycles_by_preference: int | None
    cycles_by_cost: int
    lower_bound_cycles: int
    clock_frequency_hz: int
    pool_cycles: dict[str, int]


@py_class("usmp.PoolBound")
class PoolBound(FFIObject):
    """A proved lower bound of the peak of a pool.

    Parameters
    ----------
    lower_bound_bytes
        the lower bound. For `auto` and `exact`, it holds for all plans without a higher peak in a
        less preferred pool; for other algorithms, for all plans with the same buffers in this pool.
    optimal
        whether the peak is proved to be the smallest of all plans without a higher peak in a less
        preferred pool.
    """

    lower_bound_bytes: int
    optimal: bool


@py_class("usmp.PlannedOperator")
class PlannedOperator(FFIObject):
    """A statement of an entry that runs operators, and the buffers that it accesses.

    Parameters
    ----------
    entry
        name of the entry.
    start, stop
        half-open range of its program positions.
    read
        names of the buffers that it may read, including constants and its scratch buffers.
    written
        names of the buffers that it may write, including its scratch buffers.
    """

    entry: str
    start: int
    stop: int
    read: list[str]
    written: list[str]


def buffers_by_pool(buffers: Iterable[PlacedBuffer]) -> dict[str, list[PlacedBuffer]]:
    """Return the buffers of each pool, in order of the names of pools."""
    by_pool: dict[str, list[PlacedBuffer]] = {}
    for buffer in buffers:
        by_pool.setdefault(str(buffer.pool_name), []).append(buffer)
    return dict(sorted(by_pool.items()))


@py_class("usmp.MemoryPlan")
class MemoryPlan(FFIObject):
    """The placement of all buffers of a module.

    Parameters
    ----------
    algorithm
        name of the algorithm that made the plan.
    memory_pressure
        most workspace bytes that are live at once, over all pools; where live buffers overlap, a
        plan may need less.
    buffers
        every planned buffer, in program order; only the first of identical constants.
    placement
        the way to select pools, one of `usmp.names.PLACEMENTS`.
    access_estimate
        cycles of accesses; None if no pool states its speed.
    pool_bounds
        proved lower bound of the peak of each pool, by name.
    search_ended_by
        reason why the search of `auto` or `exact` ended: "proof", "work", "time" or "interrupt".
    entry_ranges
        program positions of each entry of a module with several, by name. The positions behind all
        entries belong to sets of entries that may run at once.
    operators
        the statements that run operators, in order, entry by entry.
    """

    algorithm: str
    memory_pressure: int
    buffers: list[PlacedBuffer]
    placement: str = PREFERENCE
    access_estimate: AccessEstimate | None = None
    pool_bounds: dict[str, PoolBound] = field(default_factory=dict)
    search_ended_by: str | None = None
    entry_ranges: dict[str, LiveRange] = field(default_factory=dict)
    operators: list[PlannedOperator] = field(default_factory=list)
