"""In which of its candidate pools does a buffer go? The option `tir.usmp.placement`.

``preference``, the default, takes the user's order: the first pool that the buffer fits into (RFC
0009, "How is the fallback pool decided ?"). ``cost`` takes the pools in which the accesses of a run
are estimated to take the least time, within the size hints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from usmp.algorithms.access_cost import AccessCosts
from usmp.algorithms.assign_by_cost import assign_by_cost
from usmp.algorithms.registry import Algorithm, Plan, get_algorithm
from usmp.names import COST, PLACEMENTS, PREFERENCE
from usmp.objects import AccessEstimate, BufferInfo

_FIRST_FIT = ("greedy_by_size", "greedy_by_conflicts", "no_sharing")
"""Algorithms that are fast enough to try many assignments with."""
_PACKING = "greedy_by_size"
"""The one of them that does it for the others."""

_MOST_CYCLES = (1 << 63) - 1


@dataclass(frozen=True)
class Placed:
    """A plan, not checked yet, and what the accesses cost by both placements.

    Parameters
    ----------
    plan
        pool and offset of each buffer.
    costs
        of each buffer in each pool; None if no pool says how fast it is.
    by_preference, by_cost, lower_bound
        in the units of `costs`; `by_preference` is None if the
        buffers do not fit so.
    """

    plan: Plan
    costs: AccessCosts | None = None
    by_preference: int | None = None
    by_cost: int = 0
    lower_bound: int = 0

    def estimate(self) -> AccessEstimate | None:
        """The costs in cycles; None if no pool says how fast it is."""
        costs = self.costs
        if costs is None:
            return None

        def cycles(cost: int) -> int:
            return min(costs.cycles(cost), _MOST_CYCLES)

        pools: dict[str, int] = {}
        for buffer, allocation in self.plan.items():
            name = str(allocation.pool_info.pool_name)
            pools[name] = pools.get(name, 0) + costs.cost(buffer, allocation.pool_info)
        return AccessEstimate(
            cycles=cycles(sum(pools.values())),
            cycles_by_preference=None if self.by_preference is None else cycles(self.by_preference),
            cycles_by_cost=cycles(self.by_cost),
            lower_bound_cycles=cycles(self.lower_bound),
            clock_frequency_hz=costs.clock_frequency_hz,
            pool_cycles={name: cycles(cost) for name, cost in sorted(pools.items())},
        )


def check_placement(placement: str) -> None:
    """Check that there is such a placement.

    Raises
    ------
    ValueError
        there is not.
    """
    if placement not in PLACEMENTS:
        raise ValueError(
            f'unknown placement "{placement}" in tir.usmp.placement; '
            f"supported: {', '.join(PLACEMENTS)}"
        )


def place(
    buffers: Sequence[BufferInfo],
    memory_pressure: int,
    name: str,
    algorithm: Algorithm,
    placement: str,
    costs: AccessCosts | None,
) -> Placed:
    """Plan by preference or by cost; where costs are known, both are tried.

    Parameters
    ----------
    buffers, memory_pressure
        as algorithms take them.
    name, algorithm
        the planning algorithm; where costs are known, it checks its plans itself.
    placement
        one of `PLACEMENTS`.
    costs
        of each buffer in each pool; None if no pool says how fast it is.

    Raises
    ------
    ValueError
        the buffers do not fit; or placement by cost, but no pool says how fast it is.
    """
    if costs is None:
        if placement == COST and buffers:
            raise ValueError(
                "tir.usmp.placement=cost needs to know how fast the memory pools are, but none of "
                "them says so; give a clock frequency, a bandwidth or a latency to at least one "
                "(PoolInfoProperties), or leave the option out"
            )
        return Placed(algorithm(buffers, memory_pressure))
    preferred, misfit = _by_preference(buffers, memory_pressure, algorithm)
    if misfit is not None and placement == PREFERENCE:
        raise misfit
    packing = algorithm if name in _FIRST_FIT else get_algorithm(_PACKING)
    found = assign_by_cost(buffers, memory_pressure, algorithm, packing, costs, preferred)
    if found is None:
        assert misfit is not None
        raise misfit
    return Placed(
        preferred if preferred is not None and placement == PREFERENCE else found.plan,
        costs,
        None if preferred is None else costs.cost_of_plan(preferred),
        costs.cost_of_plan(found.plan),
        found.lower_bound,
    )


def _by_preference(
    buffers: Sequence[BufferInfo], memory_pressure: int, algorithm: Algorithm
) -> tuple[Plan | None, ValueError | None]:
    """The plan, or why there is none."""
    try:
        return algorithm(buffers, memory_pressure), None
    except ValueError as error:
        return None, error
