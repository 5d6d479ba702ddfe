"""Pools by cost: never dearer than the simple ways, and the optimum of small problems."""

from itertools import product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tvm.target import Target

from support import levels
from usmp.algorithms import get_algorithm
from usmp.algorithms.access_cost import access_costs
from usmp.algorithms.assign_by_cost import assign_by_cost
from usmp.algorithms.with_candidates import Candidates
from usmp.analysis import check_plan
from usmp.objects import (
    BufferInfo,
    ConstantPoolInfo,
    LiveRange,
    PoolAllocation,
    PoolInfoProperties,
    WorkspacePoolInfo,
)
from usmp.objects.access_count import AccessCount

C = Target("c")
GREEDY = get_algorithm("greedy_by_size")


def pool(name, hint=-1, latency=0, kind=WorkspacePoolInfo):
    properties = PoolInfoProperties(hint, read_latency_cycles=latency, write_latency_cycles=latency)
    return kind(name, ["c"], pool_info_properties=properties)


def live(buffers):
    """Conflicts as the live ranges say."""
    for a in buffers:
        meets = [
            b
            for b in buffers
            if any(
                r.start < s.stop and s.start < r.stop for r in a.live_ranges for s in b.live_ranges
            )
        ]
        a.set_conflicts([b for b in meets if b != a])
    return buffers


def buffer(name, size, pools, start=0, stop=1, alignment=1, fixed_offset=None):
    return BufferInfo(
        name, size, pools, alignment, [LiveRange(start, stop)], fixed_offset=fixed_offset
    )


def costs_of(reads):
    return access_costs({b: [AccessCount(C, 1, 1, n, 0)] for b, n in reads.items()})


def preferred_plan(algorithm, buffers):
    try:
        return dict(algorithm(buffers, 0).items())
    except ValueError:
        return None


def assign(buffers, reads, algorithm=GREEDY, packing=GREEDY):
    """The cost plan, checked, and the cost by preference."""
    costs = costs_of(reads)
    preferred = preferred_plan(algorithm, buffers)
    found = assign_by_cost(buffers, 0, algorithm, packing, costs, preferred)
    if found is None:
        assert preferred is None
        return None, costs, None
    check_plan(buffers, found.plan)
    assert found.lower_bound <= costs.cost_of_plan(found.plan)
    return found, costs, preferred


def where(found):
    return {b.name_hint: str(place.pool_info.pool_name) for b, place in found.plan.items()}


def test_what_is_read_often_gets_the_fast_pool():
    fast, slow = pool("fast", 16), pool("slow", latency=9)
    big, often = buffer("big", 16, [fast, slow]), buffer("often", 8, [fast, slow])
    found, costs, preferred = assign(live([big, often]), {big: 10, often: 20})
    assert where(found) == {"big": "slow", "often": "fast"}
    assert costs.cost_of_plan(found.plan) == 10 * 10 + 20 * 1 == found.lower_bound
    assert costs.cost_of_plan(preferred) == 10 * 1 + 20 * 10


def test_the_fast_pool_is_shared_over_time():
    fast, slow = pool("fast", 16), pool("slow", latency=9)
    first = buffer("first", 16, [fast, slow], 0, 2)
    second = buffer("second", 16, [fast, slow], 2, 4)
    across = buffer("across", 1, [fast, slow], 1, 3)
    buffers = live([first, second, across])
    found, *_ = assign(buffers, {first: 10, second: 10, across: 15})
    assert where(found) == {"first": "fast", "second": "fast", "across": "slow"}
    found, *_ = assign(buffers, {first: 10, second: 10, across: 25})
    assert where(found) == {"first": "slow", "second": "slow", "across": "fast"}


def test_the_order_of_the_user_does_not_matter_but_for_equal_costs():
    fast, slow, like_slow = pool("fast"), pool("slow", latency=9), pool("like", latency=9)
    a, b = buffer("a", 4, [slow, fast]), buffer("b", 4, [like_slow, slow])
    unread = buffer("unread", 4, [slow, fast])
    found, *_ = assign(live([a, b, unread]), {a: 1, b: 1, unread: 0})
    assert where(found) == {"a": "fast", "b": "like", "unread": "slow"}


def test_candidates_and_pins_stay():
    fast, slow = pool("fast", 16), pool("slow", latency=9)
    pinned = buffer("pinned", 8, [fast], fixed_offset=8)
    only_slow = buffer("only_slow", 8, [slow])
    often = buffer("often", 8, [slow, fast])
    found, *_ = assign(live([pinned, only_slow, often]), {pinned: 0, only_slow: 99, often: 9})
    assert {
        b.name_hint: (str(p.pool_info.pool_name), p.byte_offset) for b, p in found.plan.items()
    } == {
        "pinned": ("fast", 8),
        "only_slow": ("slow", 0),
        "often": ("fast", 0),
    }


def test_safe_overlaps_stay():
    """An output over its dying input: both fit where only one of them has room beside the other."""
    fast, slow = pool("fast", 16), pool("slow", latency=9)
    dying, output = (
        buffer("dying", 16, [fast, slow], 0, 2),
        buffer("output", 16, [fast, slow], 1, 3),
    )
    live([dying, output])
    output.set_overlaps({dying: 0})
    found, costs, _ = assign([dying, output], {dying: 5, output: 5})
    assert where(found) == {"dying": "fast", "output": "fast"}
    assert found.lower_bound == costs.cost_of_plan(found.plan) == 10


@pytest.mark.parametrize(("hint", "bound"), [(16, 4 + 6), (15, 40 + 6), (11, 40 + 60)])
def test_the_bound_knows_that_one_of_two_that_overlap_may_not_fit(hint, bound):
    """Cycles 1 in `fast` and 10 in `slow`: 16 bytes read 4 times, 12 bytes read 6 times."""
    fast, slow = pool("fast", hint), pool("slow", latency=9)
    dying, output = (
        buffer("dying", 16, [fast, slow], 0, 2),
        buffer("output", 12, [fast, slow], 1, 3),
    )
    live([dying, output])
    output.set_overlaps({dying: 0})
    found, costs, _ = assign([dying, output], {dying: 4, output: 6})
    assert found.lower_bound == costs.cost_of_plan(found.plan) == bound


def test_constants_and_workspace_do_not_compete():
    fast, slow = pool("fast", 8), pool("slow", latency=9)
    itcm = pool("itcm", 8, kind=ConstantPoolInfo)
    flash = pool("flash", latency=9, kind=ConstantPoolInfo)
    weights, bias = buffer("weights", 8, [itcm, flash]), buffer("bias", 4, [itcm, flash])
    a = buffer("a", 8, [fast, slow])
    weights.set_conflicts([bias])
    found, *_ = assign([weights, bias, a], {weights: 8, bias: 40, a: 1})
    assert where(found) == {"weights": "flash", "bias": "itcm", "a": "fast"}


def test_finds_a_plan_where_preference_finds_none():
    """An algorithm that takes nothing but the first candidate."""
    fast, slow = pool("fast", 8), pool("slow", 8, latency=9)
    pools = [fast, slow]
    buffers = live([buffer("a", 8, pools), buffer("b", 8, pools)])

    def stubborn(buffers, memory_pressure):
        alone = Candidates(buffers).copies([b.pool_candidates[:1] for b in buffers])
        plan = GREEDY(alone, memory_pressure)
        return {b: plan[copy] for b, copy in zip(buffers, alone, strict=True)}

    found, _, preferred = assign(buffers, dict.fromkeys(buffers, 1), stubborn)
    assert preferred is None
    assert sorted(where(found).values()) == ["fast", "slow"]


def test_an_algorithm_that_counts_on_the_candidates_as_they_are():
    """The plan by preference is there, so it does not matter what the algorithm fails with."""
    slow, fast = pool("slow", latency=9), pool("fast")
    only = buffer("only", 8, [slow, fast])

    def second(buffers, _):
        return {b: PoolAllocation(b.pool_candidates[1], 0) for b in buffers}

    found, *_ = assign([only], {only: 1}, second)
    assert where(found) == {"only": "fast"}
    only = buffer("only", 8, [fast, slow])
    found, *_ = assign([only], {only: 1}, second)
    assert where(found) == {"only": "slow"}


def test_an_algorithm_that_takes_a_pool_that_is_no_candidate():
    """The plan by preference is there."""
    placed = WorkspacePoolInfo("placed", ["c"], PoolInfoProperties(address=16))
    slow, stray = pool("slow", latency=9), pool("stray")
    only = buffer("only", 8, [placed, slow])

    def straying(buffers, _):
        known = {b: [*b.pool_candidates, stray][1] for b in buffers}
        return {b: PoolAllocation(pool, 0) for b, pool in known.items()}

    found, *_ = assign([only], {only: 1}, straying)
    assert where(found) == {"only": "slow"}


def test_a_plan_fits_behind_what_suits_all_candidates():
    """Of the 200 bytes, 77 are behind what suits both buffers, and 189 behind what suits one."""
    placed = WorkspacePoolInfo("placed", ["c"], PoolInfoProperties(200, pool_offset=5))
    slow, fast = pool("slow", latency=9), pool("fast")
    small = buffer("small", 64, [slow, placed], alignment=16)
    lined = buffer("lined", 128, [fast, placed], alignment=128)

    def behind(buffers, _):
        """Leave 64 bytes where a buffer has only one candidate."""
        offsets = {b: 64 if list(b.pool_candidates) == [placed] else 0 for b in buffers}
        return {b: PoolAllocation(b.pool_candidates[0], n) for b, n in offsets.items()}

    found, *_ = assign(live([small, lined]), {small: 1, lined: 1}, behind)
    assert where(found) == {"small": "placed", "lined": "fast"}
    assert found.plan[small].byte_offset == 0


def test_no_plan_at_all():
    fast = pool("fast", 8, latency=1)
    buffers = live([buffer("a", 8, [fast]), buffer("b", 8, [fast])])
    found, _, preferred = assign(buffers, dict.fromkeys(buffers, 1))
    assert found is None
    assert preferred is None


@st.composite
def problems(draw):
    """Up to 7 buffers and 3 pools, of which one may have no limit, with reads."""
    pools = [
        pool(f"p{i}", draw(st.sampled_from([8, 16, 24, 40])), draw(st.integers(0, 9)))
        for i in range(draw(st.integers(1, 2)))
    ]
    pools.append(pool("last", draw(st.sampled_from([-1, 48])), draw(st.integers(0, 30))))
    buffers = []
    for i in range(draw(st.integers(1, 7))):
        start = draw(st.integers(0, 4))
        candidates = draw(st.permutations(pools))[: draw(st.integers(1, len(pools)))]
        alignment = draw(st.sampled_from([1, 1, 4, 8]))
        size, length = draw(st.integers(0, 20)), draw(st.integers(1, 3))
        buffers.append(buffer(f"b{i}", size, candidates, start, start + length, alignment))
    return live(buffers), {b: draw(st.integers(0, 99)) for b in buffers}


@pytest.mark.slow
@settings(deadline=None, max_examples=levels.number(60, 600), derandomize=True)
@given(problems(), st.sampled_from(["greedy_by_size", "greedy_by_conflicts", "no_sharing"]))
def test_small_problems_are_solved_to_the_optimum(problem, name):
    buffers, reads = problem
    algorithm = get_algorithm(name)
    found, costs, preferred = assign(buffers, reads, algorithm, algorithm)
    best = None
    copies = Candidates(buffers)
    for chosen in product(*(list(b.pool_candidates) for b in buffers)):
        cost = sum(costs.cost(b, p) for b, p in zip(buffers, chosen, strict=True))
        if (best is None or cost < best) and preferred_plan(
            algorithm, copies.copies([[p] for p in chosen])
        ) is not None:
            best = cost
    if preferred is not None:
        cost = costs.cost_of_plan(preferred)
        best = cost if best is None else min(best, cost)
    assert (best is None) == (found is None)
    if found is not None:
        assert costs.cost_of_plan(found.plan) == best >= found.lower_bound


@pytest.mark.slow
@settings(deadline=None, max_examples=levels.number(30, 300), derandomize=True)
@given(problems(), st.sampled_from(["hill_climb", "no_sharing"]))
def test_any_algorithm_is_never_dearer_than_preference(problem, name):
    buffers, reads = problem
    algorithm = get_algorithm(name)
    found, costs, preferred = assign(buffers, reads, algorithm)
    assume(preferred is not None)
    assert costs.cost_of_plan(found.plan) <= costs.cost_of_plan(preferred)


@pytest.mark.slow
@pytest.mark.parametrize("seed", levels.seeds(1, 3))
def test_the_same_plan_every_time(seed):
    fast, slow = pool("fast", 100), pool("slow", latency=9)
    plans = []
    for _ in range(2):
        buffers = [
            buffer(f"b{i}", 8 + (7 * i + seed) % 40, [fast, slow], i // 3, i // 3 + 4, 4)
            for i in range(30)
        ]
        found, *_ = assign(live(buffers), {b: 1 + (13 * i) % 29 for i, b in enumerate(buffers)})
        plans.append([(str(p.pool_info.pool_name), p.byte_offset) for p in found.plan.values()])
    assert plans[0] == plans[1]
