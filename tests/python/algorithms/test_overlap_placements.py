"""Overlaps in the smallest chain: every placement there is, against algorithms and checker.

A chain of three buffers, each the output of an operator whose input, the buffer before it, dies.
An output may start `distance` bytes or more below its input: 0 is in place, its size no overlap.
"""

from __future__ import annotations

from itertools import pairwise, product

import pytest

from support.placement_graphs import pool
from usmp.algorithms import get_algorithm
from usmp.analysis import check_plan, memory_pressure
from usmp.objects import BufferInfo, LiveRange, PoolAllocation
from usmp_solver import ALGORITHMS

SIZES = (4, 6, 5)
DISTANCES = {"in place": (0, 0), "diagonal": (2, 3), "plain": (6, 5)}
"""Of the second buffer below the first, and of the third below the second."""

POOLS = {
    "one pool": [("sram", 12)],
    "two pools": [("fast", 5), ("slow", 8)],
    "too small for the largest": [("fast", 5), ("slow", 11)],
}


def chain(distances, pools):
    candidates = [pool(name, limit) for name, limit in pools]
    buffers = [
        BufferInfo(f"b{at}", size, candidates, live_ranges=[LiveRange(at, at + 2)])
        for at, size in enumerate(SIZES)
    ]
    for (dying, output), distance in zip(pairwise(buffers), distances, strict=True):
        dying.set_conflicts([*dying.conflicts, output])
        output.set_conflicts([dying])
        if distance < output.size_bytes:
            output.set_overlaps({dying: distance})
    return buffers


def legal_placements(distances, pools):
    """Pool and offset of each buffer, wherever the rule allows."""
    places = [(name, offset) for name, limit in pools for offset in range(limit)]
    limits = dict(pools)

    def is_legal(placement):
        if any(at + size > limits[name] for (name, at), size in zip(placement, SIZES, strict=True)):
            return False
        return all(
            placement[k][0] != placement[k + 1][0]
            or placement[k + 1][1] + distances[k] <= placement[k][1]
            or placement[k][1] + SIZES[k] <= placement[k + 1][1]
            for k in range(len(SIZES) - 1)
        )

    return {p for p in product(places, repeat=len(SIZES)) if is_legal(p)}


def peak(placement, name):
    """Highest end in the pool; 0 if nothing is there."""
    ends = [at + size for (where, at), size in zip(placement, SIZES, strict=True) if where == name]
    return max(ends, default=0)


def accepts(buffers, placement):
    by_name = {p.pool_name: p for p in buffers[0].pool_candidates}
    plan = {
        b: PoolAllocation(by_name[name], at)
        for b, (name, at) in zip(buffers, placement, strict=True)
    }
    try:
        check_plan(buffers, plan)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("pools", POOLS.values(), ids=list(POOLS))
@pytest.mark.parametrize("distances", DISTANCES.values(), ids=list(DISTANCES))
def test_the_checker_takes_exactly_what_is_legal(distances, pools):
    buffers = chain(distances, pools)
    # Up to one byte beyond the end of each pool.
    places = [
        [(name, offset) for name, limit in pools for offset in range(limit - size + 2)]
        for size in SIZES
    ]
    taken = {p for p in product(*places) if accepts(buffers, p)}
    assert taken == legal_placements(distances, pools)
    assert taken


@pytest.mark.parametrize("pools", POOLS.values(), ids=list(POOLS))
@pytest.mark.parametrize("distances", DISTANCES.values(), ids=list(DISTANCES))
def test_every_algorithm_places_legally(distances, pools):
    """Searches reach the lowest peak of the last pool; only who shares nothing gives up."""
    legal = legal_placements(distances, pools)
    last = pools[-1][0]
    for algorithm in ALGORITHMS:
        buffers = chain(distances, pools)
        try:
            plan = get_algorithm(algorithm)(buffers, memory_pressure(buffers))
        except ValueError as error:
            assert "exceeded when trying to allocate" in str(error)
            assert algorithm == "no_sharing"
            continue
        placement = tuple((str(plan[b].pool_info.pool_name), plan[b].byte_offset) for b in buffers)
        assert placement in legal, algorithm
        if algorithm in ("auto", "exact"):
            assert peak(placement, last) == min(peak(p, last) for p in legal), algorithm


@pytest.mark.parametrize("algorithm", ["auto", "exact", "hill_climb"])
@pytest.mark.parametrize(("kind", "lowest"), [("in place", 6), ("diagonal", 9), ("plain", 11)])
def test_the_lowest_peak_is_a_limit_that_fits_and_one_byte_less_is_not(algorithm, kind, lowest):
    distances = DISTANCES[kind]
    assert min(peak(p, "sram") for p in legal_placements(distances, [("sram", 12)])) == lowest
    buffers = chain(distances, [("sram", lowest)])
    check_plan(buffers, get_algorithm(algorithm)(buffers, memory_pressure(buffers)))
    buffers = chain(distances, [("sram", lowest - 1)])
    with pytest.raises(ValueError, match="exceeded when trying to allocate"):
        get_algorithm(algorithm)(buffers, memory_pressure(buffers))
