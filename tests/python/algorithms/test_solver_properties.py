"""What holds of every answer of the solver, whatever the problem."""

from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from support import levels
from support.solver_judge import assert_answer
from support.solver_problems import draw_problem, places_of, problem_of, scaled, shuffled, without
from usmp_solver import solve

EXAMPLES = levels.number(40, 400)

SMALL = st.integers(0, 2**32).map(lambda seed: draw_problem(Random(seed), 9))
LARGE = st.integers(0, 2**32).map(lambda seed: draw_problem(Random(seed), 40))


def optimum(problem):
    """The peaks, the least preferred pool's first, or None if there is no plan."""
    solution = solve(problem_of(problem))
    assert_answer(problem, solution)
    assert solution.status in ("optimal", "infeasible")
    return list(solution.peaks.values())[::-1] if solution.has_plan else None


@pytest.mark.slow
@given(SMALL, st.randoms(use_true_random=False))
@settings(max_examples=EXAMPLES, deadline=None)
def test_the_order_of_the_buffers_does_not_matter(problem, draw):
    order = list(range(len(problem.buffers)))
    draw.shuffle(order)
    assert optimum(shuffled(problem, order)) == optimum(problem)


@given(SMALL, st.sampled_from([2, 3, 1000, 2**20, 2**45]))
@settings(max_examples=EXAMPLES, deadline=None)
def test_the_peaks_grow_as_the_sizes(problem, factor):
    peaks = optimum(problem)
    expected = None if peaks is None else [peak * factor for peak in peaks]
    assert optimum(scaled(problem, factor)) == expected


@pytest.mark.slow
@given(SMALL, st.data())
@settings(max_examples=EXAMPLES, deadline=None)
def test_a_buffer_less_is_never_worse(problem, data):
    peaks = optimum(problem)
    assume(peaks is not None)
    removed = data.draw(st.integers(0, len(problem.buffers) - 1))
    fewer = optimum(without(problem, removed))
    assert fewer is not None
    assert fewer <= peaks


@pytest.mark.slow
@given(LARGE, st.sampled_from([1, 1000, 1_000_000, 10_000_000]))
@settings(max_examples=levels.number(25, 250), deadline=None)
def test_the_answer_is_sound_and_the_same_each_time(problem, work_budget):
    first, second = (solve(problem_of(problem), work_budget=work_budget) for _ in range(2))
    assert_answer(problem, first)
    assert first.status == second.status
    assert places_of(first) == places_of(second)
    assert first.lower_bounds == second.lower_bounds
    assert first.infeasible_subset == second.infeasible_subset
    assert first.work == second.work
