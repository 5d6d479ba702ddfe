"""Judges an answer of the solver by the rule and by CP-SAT."""

from __future__ import annotations

from random import Random

from support.solver_oracle import best_peaks
from support.solver_problems import (
    DrawnProblem,
    assert_plan,
    draw_problem,
    peaks_of,
    places_of,
    problem_of,
    without,
)
from usmp_solver import Solution, solve


def drawn(seed: int) -> DrawnProblem:
    """The problem of a seed: every second one has up to 14 buffers, the others up to 8."""
    return draw_problem(Random(seed), 14 if seed % 2 == 0 else 8)


def assert_answer(problem: DrawnProblem, solution: Solution) -> None:
    """What is said of the solution is true, whether or not it is the best."""
    if not solution.has_plan:
        assert len(solution.offsets) == len(solution.pools) == 0
        return
    places = places_of(solution)
    assert_plan(problem, places)
    peaks = list(solution.peaks.values())
    assert peaks == peaks_of(problem, places)
    bounds = list(solution.lower_bounds.values())
    assert all(bound <= peak for bound, peak in zip(bounds, peaks, strict=True))
    assert not solution.is_optimal or bounds == peaks
    assert solution.infeasible_subset == ()


def assert_infeasible_subset(problem: DrawnProblem, solution: Solution) -> None:
    """The named buffers do not fit together, and the others do if it is said to be irreducible."""
    subset = set(solution.infeasible_subset)
    assert len(subset) == len(solution.infeasible_subset) > 0
    rest = problem
    for buffer in sorted(set(range(len(problem.buffers))) - subset, reverse=True):
        rest = without(rest, buffer)
    assert best_peaks(rest) is None
    if solution.is_irreducible:
        for buffer in range(len(rest.buffers)):
            assert best_peaks(without(rest, buffer)) is not None


def assert_best(problem: DrawnProblem) -> bool:
    """The solver proves what CP-SAT says; whether there is a plan."""
    solution = solve(problem_of(problem))
    assert_answer(problem, solution)
    best = best_peaks(problem)
    if best is None:
        assert solution.status == "infeasible"
        assert_infeasible_subset(problem, solution)
        return False
    assert solution.status == "optimal"
    assert list(solution.peaks.values()) == best
    return True
