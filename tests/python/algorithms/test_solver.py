"""The one way to the solver: BufferInfos in, offsets out."""

from __future__ import annotations

import random

import pytest

from usmp import BufferInfo, PoolInfoProperties, WorkspacePoolInfo
from usmp.algorithms import get_algorithm
from usmp.analysis import memory_pressure
from usmp.objects import ConstantPoolInfo, LiveRange
from usmp.objects.buffer_problem import problem_of
from usmp_solver import ALGORITHMS, Pool, solve


def test_buffers_of_a_module():
    pool = WorkspacePoolInfo("sram", "c", PoolInfoProperties(100))
    a = BufferInfo("a", 8, [pool], 4, [LiveRange(0, 2)])
    b = BufferInfo("b", 8, [pool], 4, [LiveRange(1, 3)])
    c = BufferInfo("c", 3, [pool], fixed_offset=40)
    b.set_conflicts([a])
    b.set_overlaps({a: 0})
    c.set_conflicts([a, b])
    problem = problem_of([a, b, c])
    assert problem.pools == (Pool("sram", 100),)
    assert problem.names == ["a", "b", "c"]
    # That a and b conflict is told by their live ranges.
    assert list(problem.conflict_firsts) == [2, 2]
    assert list(problem.conflict_seconds) == [0, 1]
    assert (list(problem.overlap_outputs), list(problem.overlap_inputs)) == ([1], [0])
    assert list(problem.fixed_offsets) == [-1, -1, 40]
    assert solve(problem).places == {"a": ("sram", 0), "b": ("sram", 0), "c": ("sram", 40)}
    greedy = get_algorithm("greedy_by_size")([a, b, c], 0)
    places = solve(problem, algorithm="greedy_by_size").places
    assert {p.name_hint: greedy[p].byte_offset for p in (a, b, c)} == {
        name: offset for name, (_, offset) in places.items()
    }
    with pytest.raises(ValueError, match='Buffer "a" is listed twice'):
        problem_of([a, a])


def test_pools_of_a_module_are_preferred_as_the_planner_prefers_them():
    fast, slow = (WorkspacePoolInfo(name, "c") for name in ("fast", "slow"))
    infos = [BufferInfo("a", 8, [slow]), BufferInfo("b", 8, [fast, slow])]
    infos[0].set_conflicts([infos[1]])
    assert solve(problem_of(infos)).peaks == {"fast": 8, "slow": 8}
    assert problem_of(infos).pools == (Pool("fast"), Pool("slow"))
    small = WorkspacePoolInfo("slow", "c", PoolInfoProperties(4))
    with pytest.raises(ValueError, match='Two different memory pools are called "slow"'):
        problem_of([*infos, BufferInfo("c", 8, [small])])


@pytest.mark.parametrize("algorithm", ["greedy_by_size", "greedy_by_conflicts", "hill_climb"])
def test_names_decide_ties_as_in_a_module(algorithm):
    pool = WorkspacePoolInfo("sram", "c")
    infos = [BufferInfo(name, 8, [pool], 4, [LiveRange(0, 2)]) for name in ("b", "c", "a")]
    plan = get_algorithm(algorithm)(infos, 0)
    assert [plan[info].byte_offset for info in infos] == [8, 0, 16]
    places = solve(problem_of(infos), algorithm=algorithm).places
    assert places == {"b": ("sram", 8), "c": ("sram", 0), "a": ("sram", 16)}


def drawn(seed, candidates):
    """Buffers that live for a while, each with one of the lists of candidates."""
    draw = random.Random(seed)
    starts = [draw.randrange(12) for _ in range(16)]
    return [
        BufferInfo(
            f"b{number}",
            draw.randint(1, 4000),
            draw.choice(candidates),
            draw.choice([1, 16]),
            [LiveRange(start, start + draw.randint(1, 6))],
        )
        for number, start in enumerate(starts)
    ]


def assert_same_plans(name, buffers):
    """By the algorithm, as a planner calls it, and by the solver."""
    workspace = [b for b in buffers if not isinstance(b.pool_candidates[0], ConstantPoolInfo)]
    plan = get_algorithm(name)(buffers, memory_pressure(workspace))
    planned = {b.name_hint: (str(p.pool_info.pool_name), p.byte_offset) for b, p in plan.items()}
    solution = solve(problem_of(buffers), algorithm=name, fill_preferred=True)
    assert solution.places == planned


def test_hill_climb_counts_no_constants_whoever_calls_it():
    sram, flash = WorkspacePoolInfo("sram", "c"), ConstantPoolInfo("flash", "c", [])
    for seed in range(20):
        assert_same_plans("hill_climb", drawn(seed, [[sram], [sram], [flash]]))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_orders_of_pools_that_contradict_mean_the_same_to_all(name):
    one = WorkspacePoolInfo("one", "c", PoolInfoProperties(9000))
    two, three = WorkspacePoolInfo("two", "c"), WorkspacePoolInfo("three", "c")
    for seed in range(5):
        assert_same_plans(name, drawn(seed, [[one, two], [two, one], [three, one], [one, two]]))


def test_a_pool_that_is_named_twice_counts_once():
    one, two = WorkspacePoolInfo("one", "c"), WorkspacePoolInfo("two", "c")
    for name in ALGORITHMS:
        buffer = BufferInfo("a", 8, [one, two, one])
        assert get_algorithm(name)([buffer], 8)[buffer].pool_info.pool_name == "one"
