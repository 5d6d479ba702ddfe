"""Buffers that are written by hand, to columns."""

from __future__ import annotations

import numpy as np
import pytest

from usmp_solver import Buffer, Pool, Problem

BUFFERS = [
    Buffer("a", 8, [(0, 2), (3, 4)]),
    Buffer("b", 4, [(1, 2)], alignment=4, pools=["q", "p"], offset=0, conflicts=["c", "a"]),
    Buffer("c", 16, overlaps={"a": 3, "b": 0}, pools=["q"]),
]
POOLS = [Pool("p", 64), Pool("q", None, True)]


def test_a_row_for_each_buffer():
    problem = Problem.from_buffers(iter(BUFFERS), POOLS)
    assert len(problem) == 3
    assert problem.pools == tuple(POOLS)
    columns = problem.columns()
    assert {name: values.tolist() for name, values in columns.items()} == {
        "sizes": [8, 4, 16],
        "live_first": [0, 2, 3, 3],
        "live_starts": [0, 3, 1],
        "live_stops": [2, 4, 2],
        "alignments": [1, 4, 1],
        "fixed_offsets": [-1, 0, -1],
        "candidate_first": [0, 2, 4, 5],
        "candidates": [0, 1, 1, 0, 1],
        "conflict_firsts": [1, 1],
        "conflict_seconds": [2, 0],
        "overlap_outputs": [2, 2],
        "overlap_inputs": [0, 1],
        "overlap_distances": [3, 0],
        "pool_limits": [64, -1],
        "pool_is_constant": [0, 1],
    }
    assert {values.dtype for values in columns.values()} == {np.dtype(np.int64)}


def test_columns_that_are_left_out():
    numbers = (np.arange(2), np.arange(3), np.arange(2), np.arange(2) + 1)
    problem = Problem(["a", "b"], tuple(POOLS), *numbers)
    assert problem.alignments.tolist() == [1, 1]
    assert problem.fixed_offsets.tolist() == [-1, -1]
    assert problem.candidate_first.tolist() == [0, 2, 4]
    assert problem.candidates.tolist() == [0, 1, 0, 1]
    assert not len(problem.conflict_firsts)
    assert [pool.name for pool in Problem.from_buffers([]).pools] == ["memory"]


@pytest.mark.parametrize(
    ("buffers", "pools", "message"),
    [
        ([Buffer("a", 1), Buffer("b", 1), Buffer("a", 1)], POOLS, 'two buffers are called "a"'),
        ([], [Pool("p"), Pool("p")], 'two pools are called "p"'),
        ([Buffer("a", 1, conflicts=["x"])], POOLS, 'buffer "a" names the unknown buffer "x"'),
        ([Buffer("a", 1, overlaps={"x": 1})], POOLS, 'buffer "a" names the unknown buffer "x"'),
        ([Buffer("a", 1, pools=["x"])], POOLS, 'names the unknown pool "x"; known: p, q'),
        ([Buffer("a", 1, offset=-1)], POOLS, 'buffer "a": offset -1 is no byte of a pool'),
        ([Buffer("a", 1, offset=1 << 63)], POOLS, 'buffer "a": offset'),
        ([Buffer("a", 0, offset=1 << 63)], POOLS, "is no byte of a pool"),
        ([Buffer("a", 1.5)], POOLS, "no whole number of 64 bits"),
    ],
)
def test_buffers_that_are_refused(buffers, pools, message):
    with pytest.raises(ValueError, match=message):
        Problem.from_buffers(buffers, pools)


def test_the_last_byte_of_64_bits_may_be_pinned():
    last = (1 << 63) - 1
    assert Problem.from_buffers([Buffer("a", 0, offset=last)]).fixed_offsets.tolist() == [last]
