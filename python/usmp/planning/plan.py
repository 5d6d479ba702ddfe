"""The plan of a module: its buffers, and the places that an algorithm finds for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat

from tvm import tirx
from tvm.ir import IRModule

from usmp.algorithms import Algorithm
from usmp.algorithms.access_cost import AccessCosts, access_costs, has_speed
from usmp.algorithms.placement import Placed, place
from usmp.algorithms.registry import Plan as Allocations
from usmp.algorithms.search import PROOF, TIME, SearchedPlan
from usmp.analysis import check_plan, create_array_buffer_info
from usmp.analysis.access_counts import access_counts
from usmp.analysis.checks.io_place_checker import check_io_places
from usmp.analysis.checks.plan_checker import check_relations, relations_of
from usmp.analysis.stmt_pool_allocations import is_constant_info
from usmp.names import PREFERENCE
from usmp.objects import BufferInfo, BufferInfoAnalysis, PoolAllocation
from usmp.objects.attributes.module_attributes import WORKSPACE_MEMORY_POOLS_ATTR
from usmp.objects.entries import entries_of, entry_function_name
from usmp.objects.module_pools import listed_pools
from usmp.planning.io_pools import preferred_order
from usmp.planning.options import PlanningOptions
from usmp.support.deadline import Deadline
from usmp_solver.buffers import preferred_first


@dataclass(frozen=True, eq=False)
class Plan:
    """A plan that was checked.

    Parameters
    ----------
    analysis
        the buffers of the module.
    buffers
        the buffers of the analysis that have a place of their own.
    algorithm
        name of the algorithm.
    found
        the result of the algorithm and the placement.
    allocations
        pool and byte offset of each buffer.
    pools
        names of the workspace pools, the least preferred first.
    """

    analysis: BufferInfoAnalysis
    buffers: list[BufferInfo]
    algorithm: str
    found: Placed
    allocations: dict[BufferInfo, PoolAllocation]
    pools: tuple[str, ...]

    def peaks(self) -> tuple[int, ...]:
        """Return the peak of each of `pools`, in bytes. Of two plans with the same pools, the one
        with smaller peaks is better."""
        peaks = dict.fromkeys(self.pools, 0)
        for buffer in workspace_buffers(self.buffers):
            allocation, size = self.allocations[buffer], buffer.size_bytes
            name = str(allocation.pool_info.pool_name)
            peaks[name] = max(peaks[name], allocation.byte_offset + size if size else 0)
        return tuple(peaks.values())


@dataclass(frozen=True, eq=False)
class NoPlan:
    """The reason that there is no plan."""

    error: ValueError


def make_plan(
    mod: IRModule,
    analysis: BufferInfoAnalysis,
    options: PlanningOptions,
    deadline: Deadline | None = None,
) -> Plan | NoPlan:
    """Plan a module with the algorithm of the options, and check the plan.

    Parameters
    ----------
    mod
        a module whose allocations have candidate pools.
    analysis
        its buffers.
    options
        algorithm, placement and time budget.
    deadline
        time at which an algorithm that searches ends.

    Returns
    -------
    Plan | NoPlan
        no plan if the buffers do not fit, the algorithm fails, or the checker refuses its plan.
    """
    buffers = create_array_buffer_info(analysis.buffer_info_stmts)
    name = options.algorithm_name
    costs = _access_costs(mod, buffers, analysis.buffer_info_stmts)
    relations = relations_of(buffers)
    # Check each plan that placement compares, so that no wrong plan wins; check the winner below.
    planning = (
        options.find_algorithm(deadline) if costs is None else _checked(name, options, deadline)
    )
    try:
        placed = place(buffers, analysis.memory_pressure, name, planning, options.placement, costs)
        allocations = dict(placed.plan.items())
        check_relations(buffers, relations, name)
        check_plan(buffers, allocations)
        check_io_places(mod, analysis.buffer_info_stmts, allocations)
    except ValueError as error:
        return NoPlan(error)
    return Plan(analysis, buffers, name, placed, allocations, _pools(mod, buffers))


def may_improve(made: Plan | NoPlan) -> bool:
    """Return whether a search of more time may find a better plan."""
    if isinstance(made, NoPlan):
        return True
    plan = made.found.plan
    return isinstance(plan, SearchedPlan) and plan.ended_by != PROOF


def smaller(
    made: Plan | NoPlan, known: Plan | NoPlan | None, options: PlanningOptions
) -> Plan | NoPlan:
    """Return the smaller of two plans: `made`, of a search that time ended, and `known`, an earlier
    plan by a fixed amount of work. With placement by cost, take `made` if it is a plan."""
    if not isinstance(known, Plan):
        return made
    by_cost = options.placement != PREFERENCE
    if isinstance(made, Plan) and (by_cost or made.peaks() <= known.peaks()):
        return made
    plan = known.found.plan
    if isinstance(plan, SearchedPlan) and plan.ended_by != PROOF:
        plan = SearchedPlan(plan, plan.lower_bounds, TIME, plan.work)
    placed = replace(known.found, plan=plan)
    return replace(known, algorithm=options.algorithm_name, found=placed)


def workspace_buffers(buffers: Sequence[BufferInfo]) -> list[BufferInfo]:
    """Return the buffers that are not constants."""
    return [buffer for buffer in buffers if not is_constant_info(buffer)]


def _pools(mod: IRModule, buffers: Sequence[BufferInfo]) -> tuple[str, ...]:
    """Return the names of all workspace pools, so that plans of two modules can be compared."""
    candidates = [
        [str(pool.pool_name) for pool in b.pool_candidates] for b in workspace_buffers(buffers)
    ]
    pools = preferred_order(listed_pools(mod, WORKSPACE_MEMORY_POOLS_ATTR))
    candidates.append([str(pool.pool_name) for pool in pools])
    return tuple(reversed(preferred_first(candidates)))


def _checked(name: str, options: PlanningOptions, deadline: Deadline | None) -> Algorithm:
    """Return the algorithm of the options, with a check of each of its plans.

    Placement makes at most three plans, which share the remaining time.
    """
    remaining = chain((3, 2), repeat(1))

    def checked(buffers: Sequence[BufferInfo], memory_pressure: int) -> Allocations:
        relations = relations_of(buffers)
        share = deadline and deadline.share(next(remaining))
        plan = options.find_algorithm(share)(buffers, memory_pressure)
        check_relations(buffers, relations, name)
        check_plan(buffers, dict(plan.items()))
        return plan

    return checked


def _access_costs(
    mod: IRModule, buffers: list[BufferInfo], stmts: Mapping[BufferInfo, tirx.AllocBuffer]
) -> AccessCosts | None:
    """Return the access costs of buffers; None if no pool states its speed."""
    candidates = [pool for buffer in buffers for pool in buffer.pool_candidates]
    if not any(has_speed(pool) for pool in [*candidates, *listed_pools(mod)]):
        return None
    return access_costs(access_counts(list(map(entry_function_name, entries_of(mod))), mod, stmts))
