"""Stacks of buffers at many sizes at once."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from usmp.planning.stacking import StackingProblem, least_at_all_sizes, stacked


@st.composite
def problems(draw, most: int = 5, sizes: int = 3):
    """Buffers of which each pair conflicts or not, ordered by number, with random distances."""
    count = draw(st.integers(1, most))
    numbers = st.integers(0, 40)
    taken = np.array([[draw(numbers) for _ in range(sizes)] for _ in range(count)], dtype=np.int64)
    separations, below = {}, [set() for _ in range(count)]
    for low, high in combinations(range(count), 2):
        if draw(st.booleans()):
            below[high].add(low)
            for a, b in ((low, high), (high, low)):
                share = draw(st.integers(0, 4))
                separations[a, b] = taken[a] * share // 4
    alignments = [draw(st.sampled_from([1, 4, 16])) for _ in range(count)]
    return StackingProblem(taken, separations, alignments), below


def lowest(problem, below, buffer, size) -> int:
    """The lowest place of one buffer at one size: the first that is aligned and far enough."""
    least = [
        lowest(problem, below, low, size) + int(problem.separations[low, buffer][size])
        for low in below[buffer]
    ]
    place = max(least, default=0)
    while place % problem.alignments[buffer]:
        place += 1
    return place


@pytest.mark.slow
@settings(deadline=None, max_examples=80, derandomize=True)
@given(problems())
def test_each_is_as_low_as_the_relations_permit(case):
    problem, below = case
    stack = stacked(problem, below)
    count, sizes = problem.bytes.shape
    for buffer, size in product(range(count), range(sizes)):
        assert stack.places[buffer, size] == lowest(problem, below, buffer, size)
    ends = np.where(problem.bytes > 0, stack.places + problem.bytes, 0)
    np.testing.assert_array_equal(stack.peaks, ends.max(axis=0))
    for buffer in range(count):
        assert all(stack.order.index(low) < stack.order.index(buffer) for low in below[buffer])


@pytest.mark.slow
@settings(deadline=None, max_examples=60, derandomize=True)
@given(problems())
def test_better_relations(case):
    """No circle, of the same pairs, and no larger peak at the largest size."""
    problem, below = case
    given_stack = stacked(problem, below)
    found = least_at_all_sizes(problem, below)
    stack = stacked(problem, found)
    assert stack is not None
    assert stack.peaks[0] <= given_stack.peaks[0]

    def pairs(relations):
        return sorted(tuple(sorted((a, b))) for b, lower in enumerate(relations) for a in lower)

    assert pairs(found) == pairs(below)


def test_a_circle_is_no_stack():
    problem = StackingProblem(
        np.array([[4], [4]]), {(0, 1): np.array([4]), (1, 0): np.array([4])}, [1, 1]
    )
    assert stacked(problem, [{1}, {0}]) is None


def test_an_arc_is_turned_where_small_sizes_gain():
    """b may begin in a at once, but not a in b; the peak at the largest size is one either way."""
    taken = np.array([[8, 8], [16, 2]])
    separations = {(0, 1): np.array([0, 8]), (1, 0): np.array([8, 0])}
    problem = StackingProblem(taken, separations, [1, 1])
    assert stacked(problem, [set(), {0}]).peaks.tolist() == [16, 10]
    found = least_at_all_sizes(problem, [set(), {0}])
    assert found == [{1}, set()]
    assert stacked(problem, found).peaks.tolist() == [16, 8]
