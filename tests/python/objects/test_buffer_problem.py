"""What a plan may use of a pool in which buffers of several alignments may lie."""

from __future__ import annotations

import random
from math import lcm

import pytest

from usmp import (
    BufferInfo,
    DoesNotFitError,
    PoolAllocation,
    PoolInfoProperties,
    WorkspacePoolInfo,
)
from usmp.algorithms.registry import get_algorithm
from usmp.analysis.checks.plan_checker import check_plan
from usmp.objects import LiveRange
from usmp.objects.buffer_problem import is_within_limits, problem_of

LINES = WorkspacePoolInfo("lines", ["c"], PoolInfoProperties(alignment=128))
SKIPPED = 123
"""From byte 5 of a memory to the first that suits both pools."""


def pool(name: str, size: int = -1, **properties) -> WorkspacePoolInfo:
    return WorkspacePoolInfo(name, ["c"], PoolInfoProperties(size, **properties))


def two_buffers(size: int = -1) -> list[BufferInfo]:
    """100 bytes that lie in a pool with bytes of others, and what may lie there, too."""
    sram, live = pool("sram", size, pool_offset=5), [LiveRange(0, 1)]
    small = BufferInfo("small", 100, [sram], 16, live)
    lined = BufferInfo("lined", 128, [LINES, sram], 128, live)
    small.set_conflicts([lined])
    lined.set_conflicts([small])
    return [small, lined]


def misfit(buffers: list[BufferInfo], algorithm: str = "exact") -> DoesNotFitError:
    with pytest.raises(DoesNotFitError) as error:
        get_algorithm(algorithm)(buffers, 0)
    return error.value


def test_a_plan_begins_where_all_buffers_may_lie():
    limits = {each.name: each.limit for each in problem_of(two_buffers(1000)).pools}
    assert limits == {"sram": 1000 - SKIPPED, "lines": None}
    buffers = two_buffers(100 + SKIPPED)
    check_plan(buffers, get_algorithm("exact")(buffers, 0))
    error = misfit(two_buffers(99 + SKIPPED))
    assert (error.needed_bytes, error.is_exact) == (100 + SKIPPED, True)
    assert error.available_bytes == 99 + SKIPPED
    assert error.smallest_pool_bytes == {"sram": 100 + SKIPPED}


def test_an_alignment_that_is_no_power_of_two():
    """48 is the first multiple of it and of the 16 bytes to which all pools are aligned."""
    sram = pool("sram", 43 + 9, pool_offset=5)
    only = BufferInfo("only", 9, [sram], 3, [LiveRange(0, 1)])
    (limited,) = problem_of([only]).pools
    assert limited.limit == 9
    check_plan([only], {only: PoolAllocation(sram, 0)})
    with pytest.raises(ValueError, match="43 of them before offset 0"):
        check_plan([only], {only: PoolAllocation(sram, 3)})


def test_a_size_hint_of_less_than_what_is_skipped():
    error = misfit(two_buffers(50))
    assert (error.available_bytes, error.needed_bytes) == (50, 100 + SKIPPED)
    assert 'pool "sram": size_hint_bytes=50' in str(error)


def test_ends_of_buffers_count_from_where_the_size_hint_does():
    text = str(misfit(two_buffers(99 + SKIPPED), "greedy_by_size"))
    assert f"size_hint_bytes={99 + SKIPPED}, 0 bytes already taken" in text
    assert f"the buffer would end at byte {100 + SKIPPED}" in text


def test_of_several_pools_only_one_has_to_skip_bytes():
    pools = [pool("sram", 20, pool_offset=5), pool("other", 20)]
    error = misfit([BufferInfo("x", 64, pools, 16, [LiveRange(0, 1)])])
    assert (error.available_bytes, error.needed_bytes) == (40, 64)
    assert error.smallest_pool_bytes == {"sram": 64 + 11, "other": 64}


def test_the_judge_keeps_to_the_same_rule():
    for size, is_sound in ((100 + SKIPPED, True), (99 + SKIPPED, False)):
        small, lined = buffers = two_buffers(size)
        plan = {
            small: PoolAllocation(small.pool_candidates[0], 0),
            lined: PoolAllocation(LINES, 0),
        }
        assert is_within_limits(plan) == is_sound
        if is_sound:
            check_plan(buffers, plan)
            continue
        with pytest.raises(ValueError) as error:
            check_plan(buffers, plan)
        assert str(error.value).endswith(
            f"ends at byte 100, but the size hint of the pool is {size} bytes, {SKIPPED} of them "
            "before offset 0"
        )


def random_buffers(seed: int, sizes: dict[int, int]) -> list[BufferInfo]:
    """Buffers of other alignments than the pools that they may lie in."""
    rng = random.Random(seed)
    pools = [
        pool(
            f"p{number}",
            sizes.get(number, -1),
            alignment=rng.choice([0, 8, 64]),
            pool_offset=rng.choice([0, 1, 40, 100]),
            address=rng.choice([-1, 3, 4100]),
        )
        for number in range(2)
    ]
    buffers = []
    for number in range(3):
        candidates = rng.choice([pools, pools[::-1], pools[:1], pools[1:]])
        line = max(int(each.alignment) for each in candidates) or 1
        size, start = -(-rng.choice([4, 33, 100]) // line) * line, rng.randint(0, 2)
        live = [LiveRange(start, start + rng.randint(1, 2))]
        alignment = lcm(line, rng.choice([1, 16, 48]))
        buffers.append(BufferInfo(f"b{number}", size, candidates, alignment, live))
    for one in buffers:
        one.set_conflicts(
            [o for o in buffers if o is not one and o.live_ranges[0].intersects(one.live_ranges[0])]
        )
    return buffers


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["exact", "greedy_by_size"])
def test_sizes_of_errors_are_true(algorithm):
    def error_at(seed: int, sizes: dict[int, int]) -> DoesNotFitError | None:
        buffers = random_buffers(seed, sizes)
        try:
            plan = get_algorithm(algorithm)(buffers, 0)
        except DoesNotFitError as error:
            return error
        check_plan(buffers, plan)
        return None

    exact = 0
    for seed in range(30):
        sizes = {0: (seed * 37) % 300, 1: (seed * 61) % 300}
        error = error_at(seed, sizes)
        if error is None:
            continue
        numbers = [int(each.pool.name[1:]) for each in error.does_not_fit.pools]
        assert error.available_bytes == sum(sizes[number] for number in numbers)
        alone = error.does_not_fit.alone
        for each in alone:
            enough = sizes | {int(each.pool[1:]): each.bytes}
            assert error_at(seed, enough) is None
            if each.is_smallest and algorithm == "exact":
                exact += 1
                assert error_at(seed, enough | {int(each.pool[1:]): each.bytes - 1}) is not None
        if not alone:
            together = {int(n[1:]): size for n, size in error.smallest_pool_bytes.items()}
            assert error_at(seed, sizes | together) is None
        least = error.needed_bytes - 1
        if algorithm == "exact":
            # Whatever share of fewer bytes each pool gets, there is no plan.
            for share in (0, least // 2, least):
                fewer = dict(zip(numbers, (least - share, share), strict=False))
                fewer = fewer if len(numbers) > 1 else {numbers[0]: least}
                others = sizes if error.is_exact else {}
                assert error_at(seed, others | fewer) is not None
    assert exact > 5 or algorithm != "exact"
