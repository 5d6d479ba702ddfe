"""The cheapest choice against all choices there are."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import levels
from support.recursion import recursion_limit
from usmp.algorithms.cheapest_choice import Choices, Limit, by_saving_per_byte, cheapest_choice


def cost_of(choices, chosen):
    return sum(costs[pool] for costs, pool in zip(choices.costs, chosen, strict=True))


def keeps_limits(choices, chosen):
    return all(
        sum(size for item, size in limit.sizes.items() if chosen[item] == limit.pool)
        <= limit.capacity
        for limit in choices.limits
    )


@st.composite
def problems(draw):
    """Up to 7 items and 3 pools, and up to 4 limits."""
    pools = st.lists(st.integers(0, 2), min_size=1, max_size=3, unique=True)
    costs = [
        {pool: draw(st.integers(0, 50)) for pool in draw(pools)}
        for _ in range(draw(st.integers(1, 7)))
    ]
    limits = []
    for _ in range(draw(st.integers(0, 4))):
        pool = draw(st.integers(0, 2))
        members = [i for i, c in enumerate(costs) if pool in c and draw(st.booleans())]
        sizes = {item: draw(st.integers(0, 20)) for item in members}
        limits.append(Limit(pool, sizes, draw(st.integers(0, 40))))
    return Choices(costs, limits)


@pytest.mark.slow
@settings(deadline=None, max_examples=levels.number(150, 1000))
@given(problems())
def test_finds_the_optimum_and_proves_it(choices):
    feasible = [c for c in product(*choices.costs) if keeps_limits(choices, c)]
    known = 1 + sum(max(costs.values()) for costs in choices.costs)
    offered = []

    def accept(chosen):
        offered.append(cost_of(choices, chosen))
        assert keeps_limits(choices, chosen)
        return offered[-1]

    bound, complete = cheapest_choice(choices, known, accept, budget=10**9, offers=10**9)
    assert complete
    assert sorted(offered, reverse=True) == offered
    if feasible:
        assert offered[-1] == min(cost_of(choices, chosen) for chosen in feasible) >= bound
    else:
        assert offered == []


@pytest.mark.slow
@settings(deadline=None, max_examples=levels.number(60, 500))
@given(problems())
def test_offers_all_that_are_cheaper_while_none_works(choices):
    known = 1 + max(cost_of(choices, c) for c in product(*choices.costs))
    offered = []

    def accept(chosen):
        offered.append(tuple(chosen))
        return known

    _, complete = cheapest_choice(choices, known, accept, budget=10**9, offers=10**9)
    assert complete
    assert sorted(offered) == sorted(c for c in product(*choices.costs) if keeps_limits(choices, c))


def test_stops_when_the_budget_is_spent():
    """Seven offers of 2^12 choices, or ten looks at items."""
    choices = Choices([{0: 1, 1: 2}] * 12, [])
    offered = []

    def accept(chosen):
        offered.append(chosen)
        return 100

    assert cheapest_choice(choices, 100, accept, 10**9, offers=7) == (12, False)
    assert len(offered) == 7
    assert cheapest_choice(choices, 100, accept, 10, offers=7) == (12, False)
    assert len(offered) == 7


@pytest.mark.slow
def test_more_items_than_python_calls_are_deep():
    items = 300
    choices = Choices([{0: 1, 1: 3}] * items, [Limit(0, dict.fromkeys(range(items), 1), 90)])
    found = []
    known = 3 * items
    with recursion_limit(100):
        cheapest_choice(choices, known, lambda c: found.append(c) or cost_of(choices, c), 10**7, 99)
    assert cost_of(choices, found[-1]) == 90 * 1 + (items - 90) * 3


def test_saving_per_byte():
    """b saves most per byte; a does not fit then, but c does."""
    choices = Choices(
        [{0: 0, 1: 100}, {0: 0, 1: 90}, {0: 0, 1: 5}],
        [Limit(0, {0: 10, 1: 4, 2: 2}, 10)],
    )
    assert by_saving_per_byte(choices, [10, 4, 2]) == [1, 0, 0]
