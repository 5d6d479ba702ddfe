"""The choice among the candidate pools of a buffer: the option `tir.usmp.placement`.

``preference``, the default, takes the first pool in the user's order that the buffer fits (TVM's
RFC 0009, "How is the fallback pool decided ?"). ``cost`` takes the pools in which the accesses of a
run are estimated to take the least time, within the size hints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from usmp.algorithms.access_cost import AccessCosts
from usmp.algorithms.assign_by_cost import assign_by_cost
from usmp.algorithms.registry import Algorithm, Plan, get_algorithm
from usmp.names import COST, PLACEMENTS, PREFERENCE
from usmp.objects import AccessEstimate, BufferInfo
from usmp.support.text.known_names import unknown_name

_FIRST_FIT = ("greedy_by_size", "greedy_by_conflicts", "no_sharing")
"""Algorithms that are fast enough to pack many assignments."""
_PACKING = "greedy_by_size"
"""The algorithm that packs assignments in place of slow algorithms."""

_MOST_CYCLES = (1 << 63) - 1


@dataclass(frozen=True)
class Placed:
    """A plan before its check, and the costs of accesses by both placements.

    Parameters
    ----------
    plan
        pool and offset of each buffer.
    costs
        costs of each buffer in each pool; None if no pool states its speed.
    by_preference, by_cost, lower_bound
        access costs in the units of `costs`; `by_preference` is None if the buffers do not fit with
        this placement.
    """

    plan: Plan
    costs: AccessCosts | None = None
    by_preference: int | None = None
    by_cost: int = 0
    lower_bound: int = 0

    def estimate(self) -> AccessEstimate | None:
        """Return the costs in cycles; None if no pool states its speed."""
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
    """Check that a placement is known.

    Raises
    ------
    ValueError
        it is unknown.
    """
    if placement not in PLACEMENTS:
        problem = f'unknown placement "{placement}" in tir.usmp.placement'
        raise ValueError(unknown_name(problem, placement, PLACEMENTS, "Placements"))


def place(
    buffers: Sequence[BufferInfo],
    memory_pressure: int,
    name: str,
    algorithm: Algorithm,
    placement: str,
    costs: AccessCosts | None,
) -> Placed:
    """Plan by preference or by cost. With known costs, compute both plans, to compare them.

    Parameters
    ----------
    buffers, memory_pressure
        parameters of the algorithm.
    name, algorithm
        the planning algorithm; with known costs, it checks its own plans.
    placement
        one of `PLACEMENTS`.
    costs
        costs of each buffer in each pool; None if no pool states its speed.

    Raises
    ------
    ValueError
        the buffers do not fit; or placement is by cost, but no pool states its speed.
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
    cost_plan = assign_by_cost(buffers, memory_pressure, algorithm, packing, costs, preferred)
    if cost_plan is None:
        assert misfit is not None
        raise misfit
    return Placed(
        preferred if preferred is not None and placement == PREFERENCE else cost_plan.plan,
        costs,
        None if preferred is None else costs.cost_of_plan(preferred),
        costs.cost_of_plan(cost_plan.plan),
        cost_plan.lower_bound,
    )


def _by_preference(
    buffers: Sequence[BufferInfo], memory_pressure: int, algorithm: Algorithm
) -> tuple[Plan | None, ValueError | None]:
    """Return the plan by preference, or the error of the algorithm."""
    try:
        return algorithm(buffers, memory_pressure), None
    except ValueError as error:
        return None, error
