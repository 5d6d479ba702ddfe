"""What is asked of the solver, and what a solution says."""

from __future__ import annotations

from random import Random

import pytest

from usmp_solver import Buffer, Pool, Problem, solve, solver
from usmp_solver.solver import ALGORITHMS, lower_bound

MEMORY = (Pool("memory"),)


def of(*buffers, pools=MEMORY):
    return Problem.from_buffers(buffers, pools)


SMALL = of(Buffer("a", 8, [(0, 2)]), Buffer("b", 4, [(1, 3)]), Buffer("c", 8, [(2, 4)]))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_makes_a_plan(algorithm):
    solution = solve(SMALL, algorithm=algorithm)
    assert solution.algorithm == algorithm
    assert solution.has_plan
    assert solution.peak == (20 if algorithm == "no_sharing" else 12)
    assert solution.is_optimal == (algorithm != "no_sharing")
    assert sorted(solution.places) == ["a", "b", "c"]


def test_peaks_and_bounds_of_each_pool():
    buffers = [
        Buffer("a", 8, [(0, 1)], pools=["p"]),
        Buffer("b", 8, [(0, 1)], pools=["q"]),
        Buffer("c", 4, [(0, 1)], pools=["q"], alignment=16),
        Buffer("empty", 0, [(0, 1)], pools=["p"], offset=100),
    ]
    solution = solve(of(*buffers, pools=[Pool("p", 128), Pool("q"), Pool("r")]))
    assert solution.peaks == {"p": 8, "q": 20 if solution.places["c"][1] else 12, "r": 0}
    assert solution.lower_bounds["p"] == 8
    assert solution.peak == sum(solution.peaks.values())
    assert solve(of()).peaks == {"memory": 0}
    assert lower_bound(SMALL) == 12


def test_what_does_not_fit():
    live = [(0, 1)]
    problem = of(Buffer("a", 8, live), Buffer("b", 8, live), pools=[Pool("p", 15)])
    solution = solve(problem, algorithm="exact")
    assert not solution.has_plan
    assert solution.infeasible_names == ("a", "b")
    assert solution.is_irreducible
    assert solution.peaks == {"p": 0}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"algorithm": "best"}, 'unknown algorithm "best"; known: auto, exact'),
        ({"work_budget": 0}, "work_budget must be more than 0, not 0"),
        ({"work_budget": -1}, "work_budget must be more than 0, not -1"),
        ({"time_budget": 0}, "time_budget must be more than 0, not 0"),
        ({"time_budget": float("nan")}, "time_budget must be more than 0"),
        ({"time_budget": 1, "algorithm": "hill_climb"}, "a time budget is for auto or exact, not"),
    ],
)
def test_options_that_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        solve(SMALL, **options)


def test_budgets_that_are_taken():
    for algorithm in ("auto", "exact"):
        assert solve(SMALL, algorithm=algorithm, work_budget=1, time_budget=60).has_plan
    assert solve(SMALL, work_budget=1 << 80).is_optimal
    assert solve(SMALL, algorithm="hill_climb", work_budget=1).has_plan


@pytest.mark.parametrize("algorithm", ["greedy_by_size", "greedy_by_conflicts", "hill_climb"])
def test_names_decide_between_equal_buffers(algorithm):
    orders = [[Buffer(name, 8, [(0, 1)]) for name in names] for names in ("ab", "ba")]
    first, second = (solve(of(*buffers), algorithm=algorithm).places for buffers in orders)
    assert first == second


def searched():
    """A problem of which the search finds the best plan after hundreds of steps."""
    random = Random(77)
    buffers = []
    for number in range(14):
        start = random.randrange(12)
        size, length = random.randint(1, 30), random.randint(1, 6)
        buffers.append(Buffer(str(number), size, [(start, start + length)]))
    return of(*buffers)


def test_a_budget_ends_the_search():
    short, long = (solve(searched(), work_budget=budget) for budget in (1, 1 << 80))
    assert short.has_plan
    assert not short.is_optimal
    assert long.is_optimal
    assert short.lower_bound <= long.peak < short.peak


@pytest.mark.parametrize(
    ("answer", "goes_on"), [(None, True), (True, True), (0, True), (False, False)]
)
def test_the_watcher_ends_the_search_by_false(monkeypatch, answer, goes_on):
    heard = []

    def watch(progress):
        heard.append((progress.peak, progress.lower_bound))
        return answer

    def search(columns, names, algorithm, pressure, fill, work, time, watched):
        assert watched(None, 5) is goes_on
        assert watched(9, 5) is goes_on
        raise KeyboardInterrupt

    monkeypatch.setattr(solver, "function", lambda name: search)
    with pytest.raises(KeyboardInterrupt):
        solve(SMALL, progress=watch)
    assert heard == [(None, 5), (9, 5)]
