"""The lower bound of buffers that may overlap, against plans and the optimum of CP-SAT."""

from __future__ import annotations

from itertools import permutations
from random import Random

import pytest

from support import levels
from support.solver_oracle import best_peaks
from support.solver_problems import (
    DrawnBuffer,
    DrawnProblem,
    assert_plan,
    peaks_of,
    places_of,
    problem_of,
)
from usmp_solver import solve
from usmp_solver.solver import lower_bound

NOW = ((0, 1),)


def star(overlaps: dict[tuple[int, int], int]) -> DrawnProblem:
    """Return a center, three large buffers, and two small ones that may overlap each of them."""
    sizes = (10, 8, 8, 8, 4, 4)
    buffers = tuple(DrawnBuffer(size, 1, None, (0,), NOW) for size in sizes)
    anywhere = {(small, other): 0 for small in (4, 5) for other in range(4)}
    return DrawnProblem((None,), buffers, (), {**overlaps, **anywhere})


def draw_overlaps(draw: Random) -> DrawnProblem:
    """Draw buffers of a few sections in one pool; a third of the pairs may overlap."""
    alignments = draw.choice([[1], [16], [1, 2, 4, 8]])
    is_pinned = draw.random() < 0.2
    buffers = []
    for _ in range(draw.randint(4, 8)):
        start = draw.randrange(2)
        live = () if draw.random() < 0.1 else ((start, start + 2),)
        pin = 16 * draw.randrange(3) if is_pinned and draw.random() < 0.2 else None
        size = draw.randint(1, 24) * max(alignments) // draw.choice([1, 1, 2])
        buffers.append(DrawnBuffer(max(size, 1), draw.choice(alignments), pin, (0,), live))
    overlaps = {
        (i, j): draw.choice([0, draw.randint(0, buffers[i].size), draw.randint(0, buffers[i].size)])
        for i, j in permutations(range(len(buffers)), 2)
        if draw.random() < 1 / 3
    }
    share = draw.choice([0, 0.2])
    conflicts = tuple(p for p in permutations(range(len(buffers)), 2) if draw.random() < share)
    return DrawnProblem((None,), tuple(buffers), conflicts, overlaps)


@pytest.mark.parametrize(
    ("overlaps", "peak"),
    [
        ({(1, 0): 4, (2, 0): 5, (3, 0): 6}, 30),
        ({(0, 1): 4, (0, 2): 5, (0, 3): 6}, 28),
        ({(1, 0): 6, (0, 2): 7}, 29),
    ],
    ids=["over the center", "under the center", "on both sides"],
)
def test_buffers_around_one_are_proved_to_need_what_they_need(overlaps, peak):
    drawn = star(overlaps)
    problem = problem_of(drawn)
    assert lower_bound(problem) == peak
    places = places_of(solve(problem))
    assert_plan(drawn, places)
    assert peaks_of(drawn, places) == [peak]


@pytest.mark.property
@pytest.mark.slow
def test_no_bound_is_above_the_optimum_and_most_reach_it():
    seeds = levels.seeds(150, 3000)
    reached = 0
    for seed in seeds:
        problem = draw_overlaps(Random(seed))
        best = best_peaks(problem)
        bound = lower_bound(problem_of(problem))
        if best is not None:
            assert bound <= best[0], seed
            reached += bound == best[0]
    assert reached > len(seeds) / 2
