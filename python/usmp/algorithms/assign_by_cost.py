"""The assignment of buffers to pools with the least access time.

Only the candidate pools that the planning algorithm gets change; its signature and its way to
find offsets stay. Cheaper assignments come from `cheapest_choice`, which knows the live
bytes, but not how they pack. A first-fit algorithm packs each assignment; a buffer that does not
fit its assigned pool spills to its next cheapest pool. The cheapest packed assignment goes to the
planning algorithm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from usmp.algorithms.access_cost import AccessCosts
from usmp.algorithms.cheapest_choice import Choices, Limit, by_saving_per_byte, cheapest_choice
from usmp.algorithms.registry import Algorithm, Plan
from usmp.algorithms.with_candidates import Candidates
from usmp.objects import BufferInfo, PoolInfo
from usmp.objects.buffer_problem import is_within_limits

SEARCH_BUDGET = 200_000
"""Most visits of buffers in the search over one of the `_groups`: less than a second."""
PACKINGS = 100
"""Most assignments that are packed after the cheapest one could not be."""


@dataclass(frozen=True)
class CostPlan:
    """A plan, and a lower bound of the cost of all plans within the size hints (in units of
    `AccessCosts`)."""

    plan: Plan
    lower_bound: int


def assign_by_cost(
    buffers: Sequence[BufferInfo],
    memory_pressure: int,
    algorithm: Algorithm,
    packing: Algorithm,
    costs: AccessCosts,
    preferred: Plan | None,
) -> CostPlan | None:
    """Plan with the pools in which accesses are cheapest.

    Buffers go to their candidate pools only. The result costs no more than `preferred`, which is
    returned if no cheaper plan is found.

    Parameters
    ----------
    buffers, memory_pressure
        parameters of the algorithms.
    algorithm
        the planning algorithm.
    packing
        a fast algorithm that decides whether an assignment can be packed.
    costs
        costs of each buffer in each pool.
    preferred
        the plan of `algorithm` for unchanged buffers; None without one.

    Returns
    -------
    CostPlan | None
        The plan; None without one.
    """
    wanted: dict[BufferInfo, PoolInfo] = {}
    lower_bound = 0
    for group in _groups(buffers):
        assignment = _Assignment(group, packing, costs, preferred)
        assignment.improve()
        if assignment.best is None:
            return None
        wanted.update(zip(group, assignment.best, strict=True))
        lower_bound += assignment.lower_bound
    if preferred is not None and all(wanted[b] == preferred[b].pool_info for b in buffers):
        return CostPlan(preferred, lower_bound)
    cheapest = _planned(buffers, memory_pressure, algorithm, costs, wanted)
    known = [plan for plan in (preferred, cheapest) if plan is not None]
    if not known:
        return None
    return CostPlan(min(known, key=costs.cost_of_plan), lower_bound)


def _planned(
    buffers: Sequence[BufferInfo],
    memory_pressure: int,
    algorithm: Algorithm,
    costs: AccessCosts,
    wanted: Mapping[BufferInfo, PoolInfo],
) -> Plan | None:
    """Return the algorithm's plan of an assignment, or None if it finds no plan within candidate
    pools and size hints. It may find none, because only `packing` is known to find one."""
    candidates = Candidates(buffers)
    # First try the assigned pool as the only candidate, because an algorithm that minimizes pools
    # might prefer another candidate.
    alone = [[wanted[buffer]] for buffer in buffers]
    first = [_led_by(str(wanted[b].pool_name), _from_cheapest(b, costs)) for b in buffers]
    for pools in (alone, first):
        copies = candidates.copies(pools)
        try:
            plan = algorithm(copies, memory_pressure)
        except Exception:  # a user's algorithm may fail for buffers with one candidate
            continue
        original = dict(zip(copies, buffers, strict=True))
        result = {original[copy]: place for copy, place in plan.items() if copy in original}
        if _keeps_to_candidates(result) and is_within_limits(result):
            return result
    return None


def _keeps_to_candidates(plan: Plan) -> bool:
    """Return whether each buffer lies in a candidate pool, because costs cover only these."""
    return all(
        str(place.pool_info.pool_name) in [str(pool.pool_name) for pool in buffer.pool_candidates]
        for buffer, place in plan.items()
    )


def _from_cheapest(buffer: BufferInfo, costs: AccessCosts) -> list[PoolInfo]:
    """Return the candidate pools by cost, the cheapest first; at equal cost the preferred first."""
    return sorted(buffer.pool_candidates, key=lambda pool: costs.cost(buffer, pool))


def _led_by(name: str, pools: Sequence[PoolInfo]) -> list[PoolInfo]:
    """Return the pools with the pool of a name first."""
    return sorted(pools, key=lambda pool: str(pool.pool_name) != name)


def _groups(buffers: Sequence[BufferInfo]) -> list[list[BufferInfo]]:
    """Return groups of buffers that compete for pools, directly or through other buffers."""
    groups: list[tuple[set[str], list[BufferInfo]]] = []
    for buffer in buffers:
        names, members = {str(pool.pool_name) for pool in buffer.pool_candidates}, [buffer]
        for group in [g for g in groups if g[0] & names]:
            names |= group[0]
            members = [*group[1], *members]
            groups.remove(group)
        groups.append((names, members))
    position = {buffer: number for number, buffer in enumerate(buffers)}
    return [sorted(members, key=position.__getitem__) for _, members in groups]


class _Assignment:
    """The best known assignment of some buffers to pools."""

    def __init__(
        self,
        buffers: list[BufferInfo],
        packing: Algorithm,
        costs: AccessCosts,
        preferred: Plan | None,
    ) -> None:
        self.buffers = buffers
        self.packing = packing
        self.pools = [_from_cheapest(buffer, costs) for buffer in buffers]
        names = list(dict.fromkeys(str(p.pool_name) for pools in self.pools for p in pools))
        self.numbers = {name: number for number, name in enumerate(names)}
        self.costs = [
            {self.number(pool): costs.cost(buffer, pool) for pool in pools}
            for buffer, pools in zip(buffers, self.pools, strict=True)
        ]
        self.candidates = Candidates(buffers)
        self.best: list[PoolInfo] | None = None
        self.best_cost = 1 + sum(max(c.values()) for c in self.costs)
        self.lower_bound = sum(min(c.values()) for c in self.costs)
        if preferred is not None:
            self._keep([preferred[buffer].pool_info for buffer in buffers])

    def number(self, pool: PoolInfo) -> int:
        return self.numbers[str(pool.pool_name)]

    def improve(self) -> None:
        """Search for cheaper assignments."""
        if self.best_cost == self.lower_bound:
            return
        self.offer([self.number(pools[0]) for pools in self.pools])
        if self.best_cost == self.lower_bound:
            return
        choices = Choices(self.costs, self._limits())
        self.offer(by_saving_per_byte(choices, [b.size_bytes for b in self.buffers]))
        noted: list[list[int]] = []

        def note(chosen: list[int]) -> int:
            noted.append(chosen)
            return self.cost(chosen)

        bound, complete = cheapest_choice(
            choices, self.best_cost, note, SEARCH_BUDGET, SEARCH_BUDGET
        )
        target = self.cost(noted[-1]) if noted else self.best_cost
        self.lower_bound = max(self.lower_bound, target if complete else min(bound, target))
        for chosen in reversed(noted):
            if self.cost(chosen) < self.best_cost:
                self.offer(chosen)
        if self.best_cost > target:
            cheapest_choice(choices, self.best_cost, self.offer, SEARCH_BUDGET, PACKINGS)

    def cost(self, chosen: list[int]) -> int:
        """Return the cost of an assignment."""
        return sum(costs[pool] for costs, pool in zip(self.costs, chosen, strict=True))

    def offer(self, wanted: list[int]) -> int:
        """Pack an assignment, and return the least cost so far."""
        names = list(self.numbers)
        candidates = [
            _led_by(names[first], pools) for pools, first in zip(self.pools, wanted, strict=True)
        ]
        copies = self.candidates.copies(candidates)
        try:
            plan = self.packing(copies, 0)
        except ValueError:
            return self.best_cost
        self._keep([plan[copy].pool_info for copy in copies])
        return self.best_cost

    def _keep(self, assigned: list[PoolInfo]) -> None:
        cost = self.cost([self.number(pool) for pool in assigned])
        if cost < self.best_cost:
            self.best, self.best_cost = assigned, cost

    # ---- live bytes

    def _limits(self) -> list[Limit]:
        """Return the limits of pools with size hints, for buffers that are live at one time.

        As in `memory_pressure`, sizes are in units that divide all offsets; the last buffer may end
        before its last unit. If live buffers may overwrite each other, one limit leaves
        out the overwriting buffers, and another limit the overwritten ones.
        """
        limits = []
        by_name = {str(pool.pool_name): pool for pools in self.pools for pool in pools}
        index = {buffer: item for item, buffer in enumerate(self.buffers)}
        dying = [{index[b] for b in buffer.overlaps if b in index} for buffer in self.buffers]
        for name, number in self.numbers.items():
            hint = int(by_name[name].size_hint_bytes)
            members = [item for item, costs in enumerate(self.costs) if number in costs]
            if hint < 0 or not members:
                continue
            unit = gcd(*(self.buffers[item].alignment for item in members))
            sizes = {item: -(-self.buffers[item].size_bytes // unit) for item in members}
            limits += [
                Limit(number, {item: sizes[item] for item in apart}, -(-hint // unit))
                for live in _live_together(self.buffers, members)
                for apart in _without_overlap(live, dying)
            ]
        return limits


def _without_overlap(live: Sequence[int], dying: Sequence[set[int]]) -> list[list[int]]:
    """Return the live buffers that overwrite no other, and those that no other overwrites.

    `dying` has, for each buffer, the buffers that it may overwrite.
    """
    overwritten = {item: dying[item].intersection(live) for item in live}
    lost = set().union(*overwritten.values())
    untouched = [item for item in live if item not in lost]
    harmless = [item for item in live if not overwritten[item]]
    return [harmless] if harmless == untouched else [harmless, untouched]


def _live_together(buffers: Sequence[BufferInfo], members: Sequence[int]) -> list[list[int]]:
    """Return the maximal sets of nonempty buffers that are live at one position."""
    changes: dict[int, list[tuple[bool, int]]] = {}
    for item in members:
        if buffers[item].size_bytes:
            for live in buffers[item].live_ranges:
                changes.setdefault(live.start, []).append((True, item))
                changes.setdefault(live.stop, []).append((False, item))
    live_sets: dict[frozenset[int], None] = {}
    open_ranges: dict[int, int] = {}
    grown = False
    for position in sorted(changes):
        # Ends come before starts, because a range that ends here is not live here.
        for starts, item in sorted(changes[position]):
            if not starts and grown:
                live_sets[frozenset(open_ranges)] = None
                grown = False
            count = open_ranges.pop(item, 0) + (1 if starts else -1)
            if count:
                open_ranges[item] = count
            grown |= starts
    return [sorted(live) for live in live_sets]
