"""Segments are looked at that may lower the peak, and no others."""

from __future__ import annotations

from itertools import pairwise
from math import inf
from random import Random

import pytest

from support import levels
from support.streamed_graphs import main_function, module, operator
from usmp.planning.streaming import segmentation
from usmp.planning.streaming.read_main import streamed_main
from usmp.planning.streaming.segmentation import _least, segmentations


def _least_of_all(count, costs):
    """By trying all ways to cut the operators."""
    ways = (
        [0, *(i for i in range(1, count) if cuts >> i & 1), count] for cuts in range(1 << count)
    )
    return min(max(costs[interval] for interval in pairwise(way)) for way in ways)


def test_the_least():
    count = 6
    intervals = [(i, j) for i in range(count) for j in range(i + 1, count + 1)]
    for seed in levels.seeds(30, 1000):
        random = Random(seed)
        costs = {interval: random.randint(1, 12) for interval in intervals}

        def cost(*interval, costs=costs):
            return costs[interval]

        least = _least_of_all(count, costs)
        assert _least(count, cost) == least, seed
        assert _least(count, cost, has_time_for_all=True) == least, seed


def test_segments_of_cheap_operators_are_not_looked_at():
    looked_at = set()

    def cost(start, stop):
        looked_at.add((start, stop))
        return (20 if start == 70 else 5) if stop - start == 1 else 10

    assert _least(100, cost) == 10
    several = [interval for interval in looked_at if interval[1] - interval[0] > 1]
    assert several and all(start <= 70 < stop for start, stop in several)


def test_short_segments_are_looked_at_first():
    """There may be no time for all of them."""
    lengths = []

    def cost(start, stop):
        if (start, stop) not in known:
            known.add((start, stop))
            lengths.append(stop - start)
        return 10

    known: set[tuple[int, int]] = set()
    assert _least(12, cost) == 10
    assert lengths == sorted(lengths)


def test_segments_are_only_looked_at_if_they_may_matter_where_there_is_time_for_all():
    """Behind operators that cost as much as what is known, nothing lowers it."""
    looked_at = set()

    def cost(start, stop):
        looked_at.add((start, stop))
        return 10

    assert _least(12, cost, has_time_for_all=True) == 10
    assert looked_at == {(index, index + 1) for index in range(12)} | {(0, n) for n in range(2, 13)}


def test_long_segments_of_one_operator_leave_time_for_others():
    work, known = 0, {}

    def cost(start, stop):
        nonlocal work
        if stop - start == 1:
            return {2: 100, 50: 90}.get(start, 5)
        if (start, stop) not in known:
            work += stop - start
            known[start, stop] = 10 if work < 3000 else inf
        return known[start, stop]

    assert _least(60, cost) == 10


def _windows(rows):
    """Two operators, the second of which reads rows around each."""
    body = f"""
for i in range({rows}):
    for j in range(2):
        Q[i * 2 + j] = P[i * 2 + j] + T.if_then_else(i > 0, P[(i - 1) * 2 + j], T.int8(0))
"""
    window = operator("window", [("p", rows * 2, "int8"), ("q", rows * 2, "int8")], body)
    tensors = [("a", rows * 2, "int8"), ("b", rows * 2, "int8")]
    calls = ["window x a", "window a b", "window b y"]
    return module(window, main_function([("x", "int8"), ("y", "int8")], tensors, calls))


@pytest.mark.parametrize(("rows", "is_complete"), [(8, True), (5000, False)])
def test_a_bound_only_where_there_was_time_for_all_segments(monkeypatch, rows, is_complete):
    """Loops of many steps take longer."""
    monkeypatch.setattr(segmentation, "_MOST_WORK", 15)
    main = streamed_main(_windows(rows))
    assert main is not None
    assert (segmentations(main).bound_bytes is not None) == is_complete


def test_loops_that_are_known():
    mod = _windows(8)
    main = streamed_main(mod)
    again = streamed_main(mod, like=main)
    assert main is not None and again is not None
    loops = zip(main.operators, again.operators, strict=True)
    assert all(one.loop is not None and one.loop is other.loop for one, other in loops)
