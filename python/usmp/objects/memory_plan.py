"""The finished plan as plain data: what reports and metadata read from a planned module."""

from __future__ import annotations

from tvm_ffi.dataclasses import field, py_class

from usmp.names import PREFERENCE
from usmp.objects.buffers import LiveRange
from usmp.objects.ffi_object import FFIObject
from usmp.plain.buffer_place import BufferPlace


@py_class("usmp.PlacedBuffer", frozen=True)
class PlacedBuffer(FFIObject, BufferPlace):
    """A buffer with its `BufferPlace`, and why it may be there.

    Parameters
    ----------
    live_ranges
        half-open ranges of program positions in which its content matters.
    identical
        names of other constants with the same content, which lie in the same bytes.
    overlaps
        names of buffers of which it takes bytes while both are live, as an output does of an
        input that dies, each with the distance in bytes by which it has to start below that one.
    """

    live_ranges: list[LiveRange]
    identical: list[str]
    overlaps: dict[str, int] = field(default_factory=dict)


@py_class("usmp.AccessEstimate")
class AccessEstimate(FFIObject):
    """What the accesses of one run to planned memory take, in cycles of the fastest clock.

    `usmp.analysis.access_counts` says how they are counted, `usmp.algorithms.access_cost` what
    each costs.

    Parameters
    ----------
    cycles
        as planned.
    cycles_by_preference
        with the pools in the user's order; None if the buffers do not fit so.
    cycles_by_cost
        with the pools chosen by cost.
    lower_bound_cycles
        no plan within the size hints takes less.
    clock_frequency_hz
        the fastest clock of the pools; -1 if none is known.
    pool_cycles
        pool name to the cycles of the accesses to this pool, as planned.
    """

    cycles: int
    cycles_by_preference: int | None
    cycles_by_cost: int
    lower_bound_cycles: int
    clock_frequency_hz: int
    pool_cycles: dict[str, int]


@py_class("usmp.PoolBound")
class PoolBound(FFIObject):
    """What is proved of the peak of a pool.

    Parameters
    ----------
    lower_bound_bytes
        by `auto` and `exact`, no plan has a lower peak here unless a less preferred
        pool has a higher one; by other algorithms, no plan that puts the same buffers here has.
    optimal
        it is proved that no plan has a lower peak here unless a less preferred pool has a
        higher one.
    """

    lower_bound_bytes: int
    optimal: bool


@py_class("usmp.PlannedOperator")
class PlannedOperator(FFIObject):
    """A statement of an entry that runs operators, and what memory it uses.

    Parameters
    ----------
    entry
        the entry.
    start, stop
        its program positions, half-open.
    read
        names of the buffers whose content it may read, constants too.
    written
        names of the buffers whose content it may change; its own scratch memory is in both.
    """

    entry: str
    start: int
    stop: int
    read: list[str]
    written: list[str]


@py_class("usmp.MemoryPlan")
class MemoryPlan(FFIObject):
    """The placement of all buffers of a module.

    Parameters
    ----------
    algorithm
        name of the algorithm that made the plan.
    memory_pressure
        largest number of workspace bytes live at once, over all pools; where live
        buffers overlap, a plan may need less.
    buffers
        every planned buffer, in program order; of identical constants the first.
    placement
        how pools were chosen, one of `usmp.names.PLACEMENTS`.
    access_estimate
        what accesses take; None if no pool says how fast it is.
    pool_bounds
        pool name to what is proved of its peak.
    search_ended_by
        of `auto` and `exact`, "proof", "work", "time" or "interrupt".
    entry_ranges
        of a module with several entries, the program positions of each by name. What is live
        beyond them is live together in entries that may run at once.
    operators
        the statements that run operators, one entry after the other, in order.
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
