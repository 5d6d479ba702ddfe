"""The cheapest choice of a pool for each item, with pools of limited capacity.

Branch and bound with a Lagrangian bound: each limit has a price for a unit of capacity, found by
subgradient steps. The bound is the cost of the choice if capacity is bought at these prices
(M. L. Fisher, "The Lagrangian Relaxation Method for Solving Integer Programming Problems",
Management Science 27(1), 1981). A choice that is not the cheapest at these prices raises the bound
by the difference, so each node finds its bound by one addition. All numbers are integers, so that
the answer is the same on every machine, and only worse choices are pruned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

_PRICE_SCALE = 1 << 12
"""The number of price units in a cost unit."""
_STEPS = 200
_STEPS_TO_HALVE = 8


@dataclass(frozen=True)
class Limit:
    """A limit at one time: the sizes of items in `pool` sum up to at most `capacity`."""

    pool: int
    sizes: dict[int, int]
    capacity: int


@dataclass(frozen=True)
class Choices:
    """The items with their pools, and the limits of pools.

    Parameters
    ----------
    costs
        for each item, its cost in each candidate pool, preferred pools first.
    limits
        the limits of pools.
    """

    costs: Sequence[dict[int, int]]
    limits: Sequence[Limit]


class _Capacities:
    """The remaining capacity of each limit."""

    def __init__(self, choices: Choices) -> None:
        self.limits = choices.limits
        self.rest = [limit.capacity for limit in choices.limits]
        self.limits_of: list[dict[int, list[int]]] = [{p: [] for p in c} for c in choices.costs]
        for number, limit in enumerate(choices.limits):
            for item in limit.sizes:
                self.limits_of[item][limit.pool].append(number)

    def fits(self, item: int, pool: int) -> bool:
        """Return whether the remaining capacity is enough for an item in a pool."""
        return all(self.limits[n].sizes[item] <= self.rest[n] for n in self.limits_of[item][pool])

    def enter(self, item: int, pool: int) -> bool:
        """Take the capacity of an item in a pool, and return whether there was enough."""
        if not self.fits(item, pool):
            return False
        for n in self.limits_of[item][pool]:
            self.rest[n] -= self.limits[n].sizes[item]
        return True

    def leave(self, item: int, pool: int) -> None:
        """Give back the capacity of an item in a pool."""
        for n in self.limits_of[item][pool]:
            self.rest[n] += self.limits[n].sizes[item]


def by_saving_per_byte(choices: Choices, sizes: Sequence[int]) -> list[int]:
    """Return a greedy choice. Items are sorted by the cost difference per byte between their most
    expensive and cheapest pools, the largest first. Each gets the cheapest pool that it fits, or
    else its cheapest pool."""
    capacities = _Capacities(choices)
    chosen = [0] * len(sizes)

    def saving(item: int) -> Fraction:
        costs = choices.costs[item].values()
        return Fraction(max(costs) - min(costs), max(1, sizes[item]))

    for item in sorted(range(len(sizes)), key=saving, reverse=True):
        pools = sorted(choices.costs[item], key=lambda pool: choices.costs[item][pool])
        chosen[item] = next((pool for pool in pools if capacities.enter(item, pool)), pools[0])
    return chosen


Accept = Callable[[list[int]], int]
"""Takes the pool of each item, and returns the least cost of all choices so far."""


def cheapest_choice(
    choices: Choices, known_cost: int, accept: Accept, budget: int, offers: int
) -> tuple[int, bool]:
    """Offer to `accept` the choices within all limits that cost less than the best one so far.

    Parameters
    ----------
    choices
        the items with their pools, and the limits.
    known_cost
        cost of a known choice.
    accept
        called with each choice; it may reject a choice that cannot be packed.
    budget
        most visits of items, a measure of time that is the same on all machines.
    offers
        most choices that are offered.

    Returns
    -------
    tuple[int, bool]
        A lower bound of the cost of all choices that keep the limits, or `known_cost` if that is
        less; and whether all cheaper choices were offered.
    """
    search = _Search(choices, known_cost, accept, budget, offers)
    if not all(search.ranked):
        return known_cost, True
    complete = search.run()
    return min(search.lower_bound, known_cost), complete


class _Search:
    """A depth-first search, without recursion because items may exceed Python's recursion limit."""

    def __init__(
        self, choices: Choices, known_cost: int, accept: Accept, budget: int, offers: int
    ) -> None:
        self.choices = choices
        self.best = known_cost
        self.accept = accept
        self.budget = budget
        self.offers = offers
        self.capacities = _Capacities(choices)
        root_bound, prices = self._prices()
        self.lower_bound = -(-root_bound // _PRICE_SCALE)
        self.ranked = [self._ranked(item, prices) for item in range(len(choices.costs))]
        # Decide the items with the clearest preference first, because there the bound rises most.
        self.order = sorted(range(len(self.ranked)), key=lambda item: -_regret(self.ranked[item]))
        self.chosen = [0] * len(self.order)
        self.tried = [0] * len(self.order)
        self.bounds = [root_bound] * (len(self.order) + 1)

    def run(self) -> bool:
        """Search the tree, and return whether the search is complete."""
        depth, items = 0, len(self.order)
        while depth >= 0:
            if self.budget <= 0 or self.offers <= 0:
                return False
            if depth < items and self._descend(depth):
                depth += 1
                continue
            if depth == items:
                self._offer()
            else:
                self.tried[depth] = 0
            depth -= 1
            if depth >= 0:
                item = self.order[depth]
                self.capacities.leave(item, self.chosen[item])
        return True

    def _offer(self) -> None:
        """Offer a whole choice if it costs less than the best. Its bound may be below its cost."""
        costs = self.choices.costs
        if sum(costs[item][pool] for item, pool in enumerate(self.chosen)) < self.best:
            self.offers -= 1
            self.best = min(self.best, self.accept(list(self.chosen)))

    def _descend(self, depth: int) -> bool:
        """Choose the next pool that the item of this depth fits. Return False if no such pool can
        lead to a choice that is cheaper than the best one."""
        item = self.order[depth]
        for excess, pool in self.ranked[item][self.tried[depth] :]:
            bound = self.bounds[depth] + excess
            if bound > _PRICE_SCALE * (self.best - 1):
                return False
            self.tried[depth] += 1
            if self.capacities.enter(item, pool):
                if self._can_improve(bound, depth + 1):
                    self.chosen[item] = pool
                    self.bounds[depth + 1] = bound
                    return True
                self.capacities.leave(item, pool)
        return False

    def _can_improve(self, bound: int, depth: int) -> bool:
        """Return whether the bound stays below the best cost when items that do not fit their
        cheapest pool take the next one."""
        for item in self.order[depth:]:
            self.budget -= 1
            for excess, pool in self.ranked[item]:
                if self.capacities.fits(item, pool):
                    bound += excess
                    break
            else:
                return False
            if bound > _PRICE_SCALE * (self.best - 1):
                return False
        return True

    # ---- prices

    def _priced(self, item: int, prices: list[int]) -> list[tuple[int, int]]:
        """Return the cost of an item in each pool, with the price of its capacity; the cheapest
        first, at equal cost the preferred one."""
        limits = self.choices.limits
        priced = [
            (
                _PRICE_SCALE * cost
                + sum(
                    prices[n] * limits[n].sizes[item] for n in self.capacities.limits_of[item][pool]
                ),
                pool,
            )
            for pool, cost in self.choices.costs[item].items()
            if self.capacities.fits(item, pool)
        ]
        return sorted(priced, key=lambda pair: pair[0])

    def _ranked(self, item: int, prices: list[int]) -> list[tuple[int, int]]:
        """Return the pools with their costs above the cheapest one."""
        priced = self._priced(item, prices)
        return [(cost - priced[0][0], pool) for cost, pool in priced]

    def _prices(self) -> tuple[int, list[int]]:
        """Return the best bound that is found, and its prices."""
        limits = self.choices.limits
        prices = [0] * len(limits)
        best, best_prices = None, prices
        halvings = since = 0
        for _ in range(_STEPS):
            bound = -sum(p * limit.capacity for p, limit in zip(prices, limits, strict=True))
            wanted = [-limit.capacity for limit in limits]
            for item in range(len(self.choices.costs)):
                priced = self._priced(item, prices)
                if not priced:  # an item without a pool leaves no choice
                    return bound, prices
                cost, pool = priced[0]
                bound += cost
                for n in self.capacities.limits_of[item][pool]:
                    wanted[n] += limits[n].sizes[item]
            since += 1
            if best is None or bound > best:
                best, best_prices, since = bound, prices, 0
            elif since >= _STEPS_TO_HALVE:
                halvings, since = halvings + 1, 0
            gap = _PRICE_SCALE * self.best - bound
            # A limit with unused capacity and price 0 keeps this price.
            moving = [w if w > 0 or p > 0 else 0 for w, p in zip(wanted, prices, strict=True)]
            norm = sum(w * w for w in moving)
            if norm == 0 or gap <= 0:
                break
            prices = [
                max(0, price + (gap * w // norm >> halvings))
                for price, w in zip(prices, moving, strict=True)
            ]
        assert best is not None
        return best, best_prices


def _regret(ranked: list[tuple[int, int]]) -> int:
    """Return the cost of the second cheapest pool above the cheapest one."""
    return ranked[1][0] if len(ranked) > 1 else 0
