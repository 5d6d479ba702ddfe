"""`usmp_solver.solve`: problems from any compiler."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from support.plan_rule import faults
from usmp_solver import Buffer, Pool, Problem, Status, solve

SEARCHES = ("auto", "exact")
ALGORITHMS = (*SEARCHES, "greedy_by_size", "greedy_by_conflicts", "hill_climb", "no_sharing")
THREE = [Buffer("a", 4, [(0, 2)]), Buffer("b", 6, [(1, 4)]), Buffer("c", 4, [(2, 5)])]


@pytest.mark.parametrize("algorithm", SEARCHES)
def test_best_plan(algorithm):
    solution = solve(Problem.from_buffers(THREE), algorithm=algorithm)
    assert (solution.status, solution.is_optimal, solution.has_plan) == (Status.OPTIMAL, True, True)
    assert (solution.peak, solution.lower_bound) == (10, 10)
    assert (solution.peaks, solution.lower_bounds) == ({"memory": 10}, {"memory": 10})
    assert faults(THREE, solution.places) == []
    assert (solution.infeasible_names, solution.is_irreducible) == ((), False)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_heeds_every_rule(algorithm):
    buffers = [
        *THREE,
        Buffer("pinned", 3, [(0, 5)], offset=16),
        Buffer("aligned", 3, [(0, 1), (4, 5)], alignment=16),
        Buffer("elsewhere", 9, [(0, 5)], pools=["slow"]),
        Buffer("conflicting", 2, conflicts=["a"]),
        Buffer("empty", 0, [(0, 5)]),
        Buffer("out", 8, [(5, 7)]),
        Buffer("in", 8, [(4, 6)]),
        Buffer("sum", 8, [(6, 8)], overlaps={"out": 0}),
    ]
    problem = Problem.from_buffers(buffers, [Pool("fast", 64), Pool("slow")])
    solution = solve(problem, algorithm=algorithm)
    assert solution.has_plan
    assert faults(buffers, solution.places) == []
    ends = {name: 0 for name in ("fast", "slow")}
    for buffer in buffers:
        pool, offset = solution.places[buffer.name]
        ends[pool] = max(ends[pool], offset + buffer.size if buffer.size else 0)
    assert solution.peaks == ends
    assert all(solution.lower_bounds[name] <= end for name, end in ends.items())


def test_random_problems():
    rng = random.Random(7)
    for _ in range(100):
        buffers = [
            Buffer(f"b{i}", rng.randint(0, 40), [(start, start + rng.randint(1, 6))], align)
            for i in range(rng.randint(1, 9))
            for start, align in [(rng.randint(0, 9), rng.choice([1, 1, 4]))]
        ]
        problem = Problem.from_buffers(buffers)
        best = solve(problem, algorithm="exact")
        greedy = solve(problem, algorithm="greedy_by_size")
        for solution in (best, greedy):
            assert faults(buffers, solution.places) == []
            assert solution.lower_bound <= solution.peak
        assert best.is_optimal
        assert best.peak <= greedy.peak
        assert greedy.lower_bound <= best.peak


def test_does_not_fit():
    problem = Problem.from_buffers([*THREE, Buffer("d", 3, [(7, 8)])], [Pool("small", 9)])
    solution = solve(problem)
    assert (solution.status, solution.has_plan) == (Status.INFEASIBLE, False)
    assert solution.infeasible_names in (("a", "b"), ("b", "c"))
    assert solution.is_irreducible
    assert solution.places == {}


@pytest.mark.slow
def test_exact_search_in_several_pools_gives_up_what_is_too_large_for_it():
    """Nothing else ends it before it has a proof."""
    rng = random.Random(1)
    buffers = [
        Buffer(f"b{i}", rng.randint(1, 977), [(start, start + rng.randint(1, 30))])
        for i in range(5100)
        for start in [rng.randrange(5100)]
    ]
    problem = Problem.from_buffers(buffers, [Pool("sram", 15000), Pool("flash")])
    solution = solve(problem, algorithm="exact")
    assert solution.status == Status.FEASIBLE
    assert solution.lower_bounds["flash"] < solution.peaks["flash"] < 977


def test_no_plan_of_a_heuristic_is_no_proof():
    problem = Problem.from_buffers(THREE, [Pool("small", 9)])
    solution = solve(problem, algorithm="no_sharing")
    assert (solution.status, solution.infeasible_names) == (Status.UNKNOWN, ())


def test_nothing_to_place():
    solution = solve(Problem.from_buffers([]))
    assert (solution.status, solution.peak, solution.places) == (Status.OPTIMAL, 0, {})


def test_same_plan_again():
    problem = Problem.from_buffers(THREE)
    first, second = solve(problem), solve(problem)
    assert first.places == second.places
    assert first.work == second.work


def test_columns():
    problem = Problem(
        names=["a", "b"],
        pools=(Pool("memory"),),
        sizes=np.array([3, 4]),
        live_first=np.array([0, 1, 3]),
        live_starts=np.array([0, 0, 9]),
        live_stops=np.array([5, 1, 10]),
    )
    assert len(problem) == 2
    assert solve(problem).peak == 7


def hard():
    """Buffers whose conflicts follow no order of time, so that nothing simple proves a plan."""
    draw = random.Random(1)
    names = [f"b{i}" for i in range(200)]
    return Problem.from_buffers(
        Buffer(
            name,
            draw.randint(1000, 100_000),
            conflicts=[other for other in names if other != name and draw.random() < 0.3],
        )
        for name in names
    )


@pytest.mark.slow
def test_progress_can_end_the_search():
    seen = []

    def watch(progress):
        seen.append(progress)
        return progress.peak is None

    solution = solve(hard(), algorithm="exact", progress=watch)
    assert solution.status == Status.FEASIBLE
    *before, last = seen
    assert all(p.peak is None for p in before)
    assert last.lower_bound <= solution.peak <= last.peak


def test_what_the_progress_raises_comes_out():
    def watch(progress):
        raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        solve(hard(), algorithm="exact", progress=watch)


@pytest.mark.slow
def test_progress_that_returns_nothing_ends_nothing():
    seen = []
    solution = solve(hard(), work_budget=30_000_000, progress=seen.append)
    assert (solution.status, solution.work >= 30_000_000) == (Status.FEASIBLE, True)
    assert seen


def test_progress_of_more_bytes_than_64_bits_hold():
    """Nine pools of 2^60 bytes, and one whose bound alone takes long enough for a call."""
    rng = random.Random(3)
    large = [Buffer(f"large {k}", 2**60, [(0, 1)], pools=[f"pool {k}"]) for k in range(9)]
    starts = [rng.randrange(100) for _ in range(3000)]
    many = [
        Buffer(f"buffer {k}", rng.randint(1, 1000), [(start, start + 20)], pools=["many"])
        for k, start in enumerate(starts)
    ]
    pools = [*(Pool(f"pool {k}") for k in range(9)), Pool("many")]
    seen = []

    def end(progress):
        seen.append(progress.lower_bound)
        return False

    solve(Problem.from_buffers([*large, *many], pools), progress=end)
    assert set(seen) == {2**63 - 1}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"algorithm": "best"}, 'unknown algorithm "best"; known: auto, exact, '),
        ({"work_budget": 0}, "work_budget must be more than 0, not 0"),
        ({"time_budget": -1.5}, "time_budget must be more than 0, not -1.5"),
        ({"time_budget": float("nan")}, "time_budget must be more than 0, not nan"),
    ],
)
def test_options_that_cannot_be(options, message):
    with pytest.raises(ValueError) as error:
        solve(Problem.from_buffers(THREE), **options)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("buffers", "message"),
    [
        ([Buffer("a", -1)], 'buffer "a": its size, -1, is negative'),
        ([Buffer("a", 1, alignment=0)], 'buffer "a": its alignment, 0, is less than 1'),
        ([Buffer("a", 1, offset=-1)], 'buffer "a": offset -1 is no byte of a pool'),
        (
            [Buffer("a", 1, alignment=4, offset=2)],
            'buffer "a": it is pinned to 2, which is no multiple of its alignment, 4',
        ),
        (
            [Buffer("a", 9, offset=(1 << 63) - 2)],
            f'buffer "a": pinned to {(1 << 63) - 2}, it ends beyond 64 bits',
        ),
        (
            [Buffer("z", 1), Buffer("a", 1, [(0, 1), (3, 3)])],
            'buffer "a": its live range from 3 to 3 is empty',
        ),
        (
            [Buffer("a", 1), Buffer("a", 1)],
            'two buffers are called "a"; give each a name of its own',
        ),
        ([Buffer("a", 1, conflicts=["x"])], 'buffer "a" names the unknown buffer "x"'),
        ([Buffer("a", 1, overlaps={"x": 1})], 'buffer "a" names the unknown buffer "x"'),
        ([Buffer("a", 1, pools=["x"])], 'buffer "a" names the unknown pool "x"; known: memory'),
        (
            [Buffer("a", 4), Buffer("b", 2, overlaps={"a": 3})],
            'buffer "b": the distance of its overlap, 3, is negative or beyond its size',
        ),
        ([Buffer("a", 1 << 63)], "a number of the problem is no whole number of 64 bits: "),
        ([Buffer("a", 1.5)], "a number of the problem is no whole number of 64 bits: "),
        ([Buffer("a", 1, pools=["memory"] * 2)], 'buffer "a": it names a pool twice'),
        ([Buffer("a", 1, conflicts=["a"])], 'buffer "a": it conflicts with itself'),
        ([Buffer("a", 1, overlaps={"a": 0})], 'buffer "a": it overlaps itself'),
    ],
)
def test_problems_that_cannot_be(buffers, message):
    with pytest.raises(ValueError) as error:
        Problem.from_buffers(buffers)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"sizes": np.array([1], np.int32)}, "sizes must be a vector of numpy.int64"),
        ({"names": []}, "names must have one entry for each of the 1 buffers"),
        ({"live_first": np.array([0, 2])}, "live_first must rise from 0 to the length of"),
        ({"live_stops": np.array([1, 2])}, "live_starts and live_stops must be equally long"),
        ({"candidates": np.array([7])}, "candidates must be from 0 to 0"),
        (
            {"conflict_firsts": np.array([0]), "conflict_seconds": np.array([-1])},
            "conflict_seconds must be from 0 to 0",
        ),
        ({"pools": ()}, "there is no pool; name at least one"),
        ({"pools": (Pool("a"), Pool("a"))}, 'two pools are called "a"'),
        ({"pools": (Pool("a", -1),)}, 'pool "a": a limit of -1 bytes cannot be'),
        ({"pools": (Pool("a", 1.5),)}, 'pool "a": a limit of 1.5 bytes cannot be'),
        ({"fixed_offsets": np.array([-2])}, 'buffer "a": it is pinned to -2, which is no byte'),
    ],
)
def test_columns_that_cannot_be(changed, message):
    columns = {
        "names": ["a"],
        "pools": (Pool("memory"),),
        "sizes": np.array([1]),
        "live_first": np.array([0, 1]),
        "live_starts": np.array([0]),
        "live_stops": np.array([1]),
    }
    with pytest.raises(ValueError) as error:
        Problem(**{**columns, **changed})
    assert str(error.value).startswith(message)


def test_two_distances_of_one_overlap():
    columns = {name: np.array([0, 0]) for name in ("overlap_outputs", "overlap_distances")}
    problem = Problem.from_buffers(THREE)
    with pytest.raises(ValueError, match='buffer "a": it has two distances to one input'):
        replace(problem, **columns, overlap_inputs=np.array([1, 1]))
