"""Problems that are well formed, and those that are refused."""

from __future__ import annotations

import numpy as np
import pytest

from usmp_solver import Pool, Problem
from usmp_solver.validate import check_pools

LARGEST = (1 << 63) - 1


def problem(**changed):
    """Three buffers, the second with two live ranges, and two pools."""
    columns = {
        "sizes": [8, 16, 0],
        "live_first": [0, 1, 3, 3],
        "live_starts": [0, 1, 5],
        "live_stops": [1, 2, 9],
        "candidate_first": [0, 2, 3, 5],
        "candidates": [0, 1, 1, 1, 0],
    }
    columns |= changed
    names = columns.pop("names", ["a", "b", "c"])
    pools = columns.pop("pools", (Pool("p", 64), Pool("q")))
    arrays = {name: np.array(each, np.int64) for name, each in columns.items()}
    return Problem(names=names, pools=pools, **arrays)


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"sizes": [0, 0, 0]},
        {"sizes": [LARGEST, 0, 0], "fixed_offsets": [0, -1, -1]},
        {"sizes": [LARGEST - 8, 0, 0], "fixed_offsets": [8, -1, -1]},
        {"alignments": [1, 4, 64]},
        {"alignments": [8, 4, 3], "fixed_offsets": [16, -1, 9]},
        {"live_starts": [-5, 1, 5]},
        {"conflict_firsts": [0, 2], "conflict_seconds": [2, 0]},
        {"overlap_outputs": [1, 1], "overlap_inputs": [0, 2], "overlap_distances": [16, 0]},
        {"overlap_outputs": [0, 1], "overlap_inputs": [1, 0], "overlap_distances": [0, 0]},
    ],
)
def test_problems_that_are_taken(changed):
    assert len(problem(**changed)) == 3


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"sizes": [8, -1, -2]}, 'buffer "b": its size, -1, is negative'),
        ({"alignments": [1, 1, 0]}, 'buffer "c": its alignment, 0, is less than 1'),
        ({"fixed_offsets": [-1, -2, 0]}, 'buffer "b": it is pinned to -2, which is no byte'),
        (
            {"alignments": [4, 1, 1], "fixed_offsets": [6, 1, 1]},
            'buffer "a": it is pinned to 6, which is no multiple of its alignment, 4',
        ),
        (
            {"sizes": [LARGEST, 0, 0], "fixed_offsets": [1, -1, -1]},
            'buffer "a": pinned to 1, it ends beyond 64 bits',
        ),
        ({"live_starts": [0, 1, 9]}, 'buffer "b": its live range from 9 to 9 is empty'),
        ({"live_starts": [2, 1, 5]}, 'buffer "a": its live range from 2 to 1 is empty'),
        ({"candidate_first": [0, 2, 2, 5]}, 'buffer "b": no pool may hold it'),
        ({"candidates": [0, 1, 1, 1, 1]}, 'buffer "c": it names a pool twice'),
        ({"conflict_firsts": [0, 2], "conflict_seconds": [1, 2]}, 'buffer "c": it conflicts with'),
        (
            {"overlap_outputs": [1], "overlap_inputs": [1], "overlap_distances": [0]},
            'buffer "b": it overlaps itself',
        ),
        (
            {
                "overlap_outputs": [0, 1, 0],
                "overlap_inputs": [1, 0, 1],
                "overlap_distances": [0] * 3,
            },
            'buffer "a": it has two distances to one input',
        ),
        (
            {"overlap_outputs": [0, 1], "overlap_inputs": [1, 0], "overlap_distances": [8, 17]},
            'buffer "b": the distance of its overlap, 17, is negative or beyond its size',
        ),
        (
            {"overlap_outputs": [0], "overlap_inputs": [1], "overlap_distances": [-1]},
            'buffer "a": the distance of its overlap, -1,',
        ),
        ({"names": ["a", "b"]}, "names must have one entry for each of the 3 buffers"),
        ({"alignments": [1, 1]}, "alignments must have one entry"),
        ({"fixed_offsets": [-1] * 4}, "fixed_offsets must have one entry"),
        ({"sizes": [[8], [16], [0]]}, "sizes must be a vector of numpy.int64"),
        ({"live_first": [0, 1, 3]}, "live_first must rise from 0 to the length of live_starts, 3"),
        ({"live_first": [1, 1, 3, 3]}, "live_first must rise from 0"),
        ({"live_first": [0, 1, 2, 2]}, "live_first must rise from 0"),
        ({"live_first": [0, 3, 1, 3]}, "live_first must rise from 0"),
        ({"candidate_first": [0, 2, 3, 4]}, "candidate_first must rise from 0"),
        ({"live_stops": [1, 2]}, "live_starts and live_stops must be equally long"),
        ({"conflict_firsts": [1]}, "conflict_firsts and conflict_seconds must be equally long"),
        ({"overlap_outputs": [1]}, "overlap_outputs and overlap_inputs must be equally long"),
        (
            {"overlap_outputs": [1], "overlap_inputs": [0]},
            "overlap_outputs and overlap_distances must be equally long",
        ),
        ({"candidates": [0, 1, 2, 1, 0]}, "candidates must be from 0 to 1"),
        ({"candidates": [0, 1, -1, 1, 0]}, "candidates must be from 0 to 1"),
        ({"conflict_firsts": [3], "conflict_seconds": [0]}, "conflict_firsts must be from 0 to 2"),
        ({"conflict_firsts": [0], "conflict_seconds": [3]}, "conflict_seconds must be from 0 to"),
        ({"conflict_firsts": [0], "conflict_seconds": [-1]}, "conflict_seconds must be from 0 to"),
        (
            {"overlap_outputs": [3], "overlap_inputs": [0], "overlap_distances": [0]},
            "overlap_outputs must be from 0 to 2",
        ),
        (
            {"overlap_outputs": [0], "overlap_inputs": [3], "overlap_distances": [0]},
            "overlap_inputs must be from 0 to 2",
        ),
        ({"pools": ()}, "there is no pool"),
        ({"pools": (Pool("p"), Pool("p"))}, 'two pools are called "p"'),
    ],
)
def test_problems_that_are_refused(changed, message):
    with pytest.raises(ValueError) as caught:
        problem(**changed)
    assert str(caught.value).startswith(message)


def test_columns_are_vectors_of_64_bits():
    made = problem()
    for sizes in ([8, 16, 0], np.array([8, 16, 0], np.int32), np.zeros(3)):
        with pytest.raises(ValueError, match=r"sizes must be a vector of numpy\.int64"):
            Problem(
                made.names, made.pools, sizes, made.live_first, made.live_starts, made.live_stops
            )


@pytest.mark.parametrize(
    ("limit", "is_taken"),
    [
        (None, True),
        (0, True),
        (np.int32(5), True),
        (LARGEST, True),
        (LARGEST + 1, False),
        (-1, False),
        (1.0, False),
    ],
)
def test_limits_of_pools(limit, is_taken):
    pools = [Pool("other"), Pool("p", limit)]
    if is_taken:
        check_pools(pools)
        return
    with pytest.raises(ValueError, match='pool "p": a limit of'):
        check_pools(pools)
