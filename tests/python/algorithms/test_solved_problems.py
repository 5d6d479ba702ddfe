"""Problems that differ in the times of live ranges, not in their order, are solved once."""

from __future__ import annotations

import pytest

from usmp.algorithms import solved_problems
from usmp.algorithms.solved_problems import shared_solutions, solve_once
from usmp_solver import Buffer, Pool, Problem, Progress


@pytest.fixture
def solved(monkeypatch):
    """The problems that the solver was asked to solve."""
    found, solve = [], solved_problems.solve

    def counted(problem, **how):
        found.append(problem)
        return solve(problem, **how)

    monkeypatch.setattr(solved_problems, "solve", counted)
    return found


def problem(*times, size=8, name="b", pool="p"):
    buffers = [Buffer(f"{name}{i}", size, [live]) for i, live in enumerate(times)]
    return Problem.from_buffers(buffers, [Pool(pool)])


FIRST = problem((0, 2), (1, 3), (2, 4))
LATER = problem((10, 30), (20, 31), (30, 90))


def test_other_times_in_the_same_order(solved):
    with shared_solutions():
        first = solve_once(FIRST, "auto", None)
        with shared_solutions():
            later = solve_once(LATER, "auto", None)
        assert solved == [FIRST]
        assert later.problem is LATER
        assert later.places == first.places
        # The second buffer ends when the third begins; a size, name and pool; the algorithm.
        others = [problem((0, 2), (1, 2), (2, 4))]
        for changed in {"size": 9}, {"name": "c"}, {"pool": "q"}:
            others.append(problem((0, 2), (1, 3), (2, 4), **changed))
        for other in others:
            solve_once(other, "auto", None)
        others.append(FIRST)
        solve_once(FIRST, "exact", None)
        assert solved == [FIRST, *others]
    solve_once(FIRST, "auto", None)
    solve_once(FIRST, "auto", None)
    assert solved == [FIRST, *others, FIRST, FIRST]


@pytest.mark.parametrize("ends", [False, True])
def test_a_search_that_was_ended_is_not_known(monkeypatch, ends):
    asked = []

    def solve(problem, *, progress, **how):
        asked.append(progress(Progress(None, 0)))
        return solver_solve(problem, **how)

    solver_solve = solved_problems.solve
    monkeypatch.setattr(solved_problems, "solve", solve)
    with shared_solutions():
        for _ in range(2):
            solve_once(FIRST, "auto", lambda _: not ends)
    assert asked == ([False, False] if ends else [True])
