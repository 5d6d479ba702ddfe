"""Pinned buffers, and outputs that may overwrite a dying input: algorithms and checker."""

import random

import pytest

from support import levels
from support.placement_graphs import graph, offsets, pool, run
from usmp.algorithms import get_algorithm
from usmp.analysis import check_plan
from usmp.objects import BufferInfo, PoolAllocation
from usmp_solver import ALGORITHMS

PLANNERS = [name for name in ALGORITHMS if name != "no_sharing"]


def conflicting(*buffers):
    for buffer in buffers:
        buffer.set_conflicts([other for other in buffers if other != buffer])
    return {buffer.name_hint: buffer for buffer in buffers}


# ---- pins


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_pinned_buffer_is_where_it_was_pinned(algorithm):
    p = pool()
    pinned = BufferInfo("pinned", 10, [p], fixed_offset=70)
    found = offsets(algorithm, conflicting(BufferInfo("a", 100, [p]), pinned))
    assert found == {"a": 80, "pinned": 70}


@pytest.mark.parametrize("algorithm", PLANNERS)
def test_what_does_not_conflict_may_share_bytes_with_a_pin(algorithm):
    p = pool()
    buffers = graph({"a": 100}, {}, [p]) | {"pin": BufferInfo("pin", 10, [p], fixed_offset=70)}
    assert offsets(algorithm, buffers) == {"a": 0, "pin": 70}


@pytest.mark.parametrize("algorithm", PLANNERS)
def test_the_gap_below_a_pin_is_used(algorithm):
    p = pool()
    pinned = BufferInfo("pinned", 10, [p], fixed_offset=64)
    buffers = conflicting(BufferInfo("a", 65, [p]), BufferInfo("b", 64, [p]), pinned)
    assert offsets(algorithm, buffers) == {"a": 74, "b": 0, "pinned": 64}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_pin_goes_to_the_first_pool_that_has_the_bytes(algorithm):
    small, large = pool("small", 32), pool("large")
    first = BufferInfo("first", 8, [small, large], fixed_offset=16)
    second = BufferInfo("second", 4, [small, large], fixed_offset=20)
    third = BufferInfo("third", 4, [small, large], fixed_offset=32)
    assert run(algorithm, conflicting(first, second, third)) == {
        "first": ("small", 16),
        "second": ("large", 20),
        "third": ("large", 32),
    }


def test_the_checker_refuses_a_pinned_buffer_elsewhere():
    buffer = BufferInfo("a", 8, [pool()], fixed_offset=16)
    with pytest.raises(ValueError) as error:
        check_plan([buffer], {buffer: PoolAllocation(buffer.pool_candidates[0], 0)})
    assert str(error.value) == (
        'USMP plan check: buffer "a" (8 bytes, alignment 1) at offset 0 of pool '
        '"global_workspace" is pinned to offset 16'
    )


# ---- a buffer that may go to one pool only


@pytest.mark.parametrize("algorithm", PLANNERS)
def test_a_choice_is_given_up_for_a_buffer_that_has_none(algorithm):
    """`large` comes first and would take the only memory that `bound` may use."""
    fast, slow = pool("fast", 100), pool("slow")
    buffers = conflicting(
        BufferInfo("large", 100, [fast, slow]),
        BufferInfo("free", 60, [fast, slow]),
        BufferInfo("bound", 90, [fast]),
    )
    assert run(algorithm, buffers) == {
        "large": ("slow", 0),
        "free": ("slow", 100),
        "bound": ("fast", 0),
    }


@pytest.mark.parametrize("algorithm", ["greedy_by_size", "greedy_by_conflicts"])
def test_the_choice_is_found_among_many_that_do_not_matter(algorithm):
    fast, slow = pool("fast", 1000), pool("slow")
    large, bound = BufferInfo("large", 900, [fast, slow]), BufferInfo("bound", 200, [fast])
    others = [BufferInfo(f"other{i}", 500 + i, [fast, slow]) for i in range(100)]
    buffers = {b.name_hint: b for b in [large, *others, bound]}
    for b in others:
        b.set_conflicts(others[:1])
    large.set_conflicts([bound])
    assert run(algorithm, buffers)["large"] == ("slow", 0)


# ---- safe overlaps


@pytest.mark.parametrize("algorithm", PLANNERS)
@pytest.mark.parametrize(("distance", "expected"), [(0, 40), (16, 56), (40, 80)])
def test_an_output_starts_below_its_input_by_the_distance(algorithm, distance, expected):
    """The output, 40 bytes, at 0; the dying input, also 40, `distance` above it."""
    p = pool()
    a_input, output = BufferInfo("input", 40, [p]), BufferInfo("output", 40, [p])
    output.set_overlaps({a_input: distance})
    buffers = conflicting(a_input, output)
    plan = get_algorithm(algorithm)(list(buffers.values()), 0)
    check_plan(buffers.values(), plan)
    assert max(place.byte_offset + 40 for place in plan.values()) == expected
    assert plan[a_input].byte_offset - plan[output].byte_offset in (distance, -40)


def places(**offset_of):
    p = pool()
    a_input, output = BufferInfo("input", 40, [p]), BufferInfo("output", 30, [p])
    output.set_overlaps({a_input: 8})
    buffers = conflicting(a_input, output)
    return buffers, {b: PoolAllocation(p, offset_of[name]) for name, b in buffers.items()}


@pytest.mark.parametrize("offset", [8, 9, 40])
def test_the_checker_takes_a_safe_overlap(offset):
    buffers, plan = places(input=offset, output=0)
    check_plan(buffers.values(), plan)


@pytest.mark.parametrize(("a_input", "output"), [(7, 0), (0, 0), (0, 8), (0, 39)])
def test_the_checker_refuses_an_overlap_that_is_too_close(a_input, output):
    buffers, plan = places(input=a_input, output=output)
    with pytest.raises(ValueError, match="share bytes"):
        check_plan(buffers.values(), plan)


def test_an_overlap_with_one_says_nothing_about_others():
    p = pool()
    a_input, output, other = (BufferInfo(name, 40, [p]) for name in ("input", "output", "other"))
    output.set_overlaps({a_input: 0})
    buffers = conflicting(a_input, output, other)
    assert sorted(offsets("greedy_by_size", buffers).values()) == [0, 0, 40]
    assert (
        offsets("greedy_by_size", buffers)["other"] != offsets("greedy_by_size", buffers)["input"]
    )


# ---- everything at once


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_random_pins_overlaps_pools_and_alignments(algorithm):
    """Whatever an algorithm answers, the checker takes; plain disjointness is checked here too."""
    planned = 0
    seeds = levels.seeds(150, 600)
    for seed in seeds:
        draw = random.Random(seed)
        pools = [pool("fast", draw.choice([-1, 60, 120])), pool("slow", draw.choice([-1, 100]))]
        buffers = []
        for i in range(draw.randint(2, 9)):
            alignment = draw.choice([1, 1, 2, 3, 16])
            pin = draw.randrange(0, 80, alignment) if draw.random() < 0.15 else None
            candidates = draw.choice([pools, pools[::-1], pools[:1], pools[1:]])
            size = draw.randint(0, 40)
            buffers.append(BufferInfo(f"b{i}", size, candidates, alignment, fixed_offset=pin))
        for buffer in buffers:
            buffer.set_conflicts([other for other in buffers if draw.random() < 0.4])
        for output in buffers:
            dying = [b for b in buffers if b != output and draw.random() < 0.15]
            output.set_overlaps({b: draw.randint(0, output.size_bytes) for b in dying})
        try:
            plan = get_algorithm(algorithm)(buffers, 0)
        except ValueError as error:
            assert "exceeded when trying to allocate" in str(error)
            continue
        planned += 1
        check_plan(buffers, plan)
        assert_rule(buffers, plan)
    assert planned > len(seeds) / 2


def assert_rule(buffers, plan):
    """Two conflicting buffers of one pool lie `sep` apart, one way or the other."""
    for a in buffers:
        assert a.fixed_offset in (None, plan[a].byte_offset)
        for b in buffers:
            together = a in list(b.conflicts) or b in list(a.conflicts)
            if a == b or not together or plan[a].pool_info != plan[b].pool_info:
                continue
            if a.size_bytes == 0 or b.size_bytes == 0:
                continue
            gap = plan[b].byte_offset - plan[a].byte_offset
            assert gap >= a.overlaps.get(b, a.size_bytes) or -gap >= b.overlaps.get(a, b.size_bytes)
