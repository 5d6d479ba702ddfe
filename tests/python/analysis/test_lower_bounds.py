"""What is proved of the peaks of plans that prove nothing themselves."""

from __future__ import annotations

from itertools import pairwise

import pytest

from usmp.algorithms import get_algorithm
from usmp.analysis import memory_pressure, pool_bounds
from usmp.objects import (
    BufferInfo,
    LiveRange,
    PoolAllocation,
    PoolInfoProperties,
    WorkspacePoolInfo,
)

FAST, SLOW, SPARE = (WorkspacePoolInfo(name, ["c"]) for name in ("fast", "slow", "spare"))


def buffer(size, start, stop, *pools, **properties):
    live = [LiveRange(start, stop)]
    return BufferInfo("b", size, pools or (FAST,), live_ranges=live, **properties)


def bounds(*placed, lower_bounds=None):
    """Lower bound and whether the peak is optimal, by pool, of buffers at their places."""
    plan = {b: PoolAllocation(pool, offset) for b, pool, offset in placed}
    found = pool_bounds([b for b, _, _ in placed], plan, lower_bounds)
    return {name: (bound.lower_bound_bytes, bound.optimal) for name, bound in found.items()}


def test_a_peak_that_the_live_bytes_need():
    a, b = buffer(10, 0, 2), buffer(20, 1, 3)
    assert bounds((a, FAST, 0), (b, FAST, 10)) == {"fast": (30, True)}


def test_a_peak_above_the_live_bytes():
    a, b = buffer(10, 0, 2), buffer(20, 2, 3)
    assert bounds((a, FAST, 0), (b, FAST, 10)) == {"fast": (20, False)}


def test_a_pin_needs_what_is_below_it():
    a = buffer(10, 0, 1, fixed_offset=90)
    assert bounds((a, FAST, 90)) == {"fast": (100, True)}


def test_a_less_preferred_pool_that_is_empty_is_no_better_place():
    a = buffer(10, 0, 1, FAST, SLOW)
    assert bounds((a, FAST, 0)) == {"fast": (10, True)}


def test_a_less_preferred_pool_in_use_might_take_more():
    a, b = buffer(10, 0, 1, FAST, SLOW), buffer(10, 1, 2, SLOW)
    assert bounds((a, FAST, 0), (b, SLOW, 0)) == {"fast": (10, False), "slow": (10, True)}


def test_a_preferred_pool_might_take_more():
    a = buffer(10, 0, 1, FAST, SLOW)
    assert bounds((a, SLOW, 0)) == {"slow": (10, False)}


def test_buffers_that_could_be_elsewhere_prove_nothing_but_others_may():
    a, b = buffer(10, 0, 1, FAST, SLOW), buffer(10, 1, 2, SLOW)
    assert bounds((a, SLOW, 0), (b, SLOW, 0)) == {"slow": (10, True)}


def test_orders_of_pools_that_contradict_each_other_prove_nothing():
    a, b = buffer(10, 0, 1, FAST, SLOW), buffer(5, 1, 2, SLOW, FAST)
    assert bounds((a, FAST, 0), (b, FAST, 0)) == {"fast": (10, False)}


@pytest.mark.parametrize(
    ("distance", "place", "expected"),
    [
        (0, 0, (20, True)),
        (0, 20, (20, False)),
        (12, 12, (22, True)),
        (12, 20, (22, False)),
        (20, 20, (30, True)),
    ],
)
def test_bytes_that_may_overlap_are_taken_off(distance, place, expected):
    """The output, 20 bytes at 0, may start `distance` bytes below its input of 10."""
    a, b = buffer(10, 0, 2), buffer(20, 1, 3)
    b.set_overlaps({a: distance})
    assert bounds((a, FAST, place), (b, FAST, 0)) == {"fast": expected}


def test_an_overlap_takes_nothing_off_what_others_need():
    a, b, c = buffer(10, 0, 2), buffer(10, 1, 3), buffer(8, 0, 3)
    b.set_overlaps({a: 0})
    assert bounds((a, FAST, 0), (b, FAST, 0), (c, FAST, 10)) == {"fast": (18, True)}


def test_chain_in_place_is_proved_by_every_algorithm():
    """Live together are 20 bytes, but 10 are enough."""
    chain = [buffer(10, at, at + 2) for at in range(4)]
    for dying, output in pairwise(chain):
        dying.set_conflicts([output])
        output.set_overlaps({dying: 0})
    for name in ("greedy_by_size", "greedy_by_conflicts", "hill_climb"):
        plan = get_algorithm(name)(chain, memory_pressure(chain))
        bound = pool_bounds(chain, plan)["fast"]
        assert (bound.lower_bound_bytes, bound.optimal) == (10, True), name


def test_what_the_algorithm_proved_counts():
    a, b = buffer(10, 0, 2, SPARE, SLOW), buffer(20, 2, 3, FAST)
    placed = ((a, SLOW, 5), (b, FAST, 0))
    assert bounds(*placed, lower_bounds={"spare": 0, "slow": 15, "fast": 19}) == {
        "fast": (19, False),
        "slow": (15, True),
    }


def test_size_hints_are_no_bound():
    small = WorkspacePoolInfo("small", ["c"], PoolInfoProperties(size_hint_bytes=16))
    assert bounds((buffer(10, 0, 1, small), small, 0)) == {"small": (10, True)}
