"""Segments are looked at that may lower the peak, and no others."""

from __future__ import annotations

from itertools import pairwise
from math import inf
from random import Random

import pytest

from support import levels
from support.random_streamed_graphs import draw_streamed
from support.streamed_graphs import main_function, module, operator
from usmp.planning.options import PlanningOptions
from usmp.planning.session import planning_session
from usmp.planning.streaming import segmentation
from usmp.planning.streaming.live_ends import LiveEnds
from usmp.planning.streaming.read_main import streamed_main
from usmp.planning.streaming.segment_bytes import segment_bytes
from usmp.planning.streaming.segmentation import _least, segmentations

ENDS = range(7)
"""Of six operators."""


def _least_of_all(count, costs):
    """By trying all ways to cut the operators."""
    ways = (
        [0, *(i for i in range(1, count) if cuts >> i & 1), count] for cuts in range(1 << count)
    )
    return min(max(costs[interval] for interval in pairwise(way)) for way in ways)


def test_the_least():
    count = len(ENDS) - 1
    intervals = [(i, j) for i in range(count) for j in range(i + 1, count + 1)]
    for seed in levels.seeds(30, 1000):
        random = Random(seed)
        costs = {interval: random.randint(1, 12) for interval in intervals}

        def cost(*interval, costs=costs):
            return costs[interval]

        least = _least_of_all(count, costs)
        cuts = [random.randint(0, min((costs[i, j] for i in range(j)), default=0)) for j in ENDS]
        assert _least(cost, cuts, reserve=lambda start, stop: None) == least, seed
        assert _least(cost, cuts) == least, seed


def test_segments_of_cheap_operators_are_not_looked_at():
    looked_at = set()

    def cost(start, stop):
        looked_at.add((start, stop))
        return (20 if start == 70 else 5) if stop - start == 1 else 10

    assert _least(cost, [0] * 101) == 10
    several = [interval for interval in looked_at if interval[1] - interval[0] > 1]
    assert several and all(start <= 70 < stop for start, stop in several)


def test_time_is_reserved_for_short_segments_first():
    """There may be no time for all of them."""
    reserved: dict[tuple[int, int], None] = {}

    def reserve(*interval):
        reserved[interval] = None

    assert _least(lambda start, stop: 10, [0] * 13, reserve) == 10
    lengths = [stop - start for start, stop in reserved]
    assert lengths == sorted(length for length in range(2, 13) for _ in range(13 - length))


def test_segments_are_only_looked_at_if_they_may_matter_where_there_is_time_for_all():
    """Behind operators that cost as much as what is known, nothing lowers it."""
    looked_at = set()

    def cost(start, stop):
        looked_at.add((start, stop))
        return 10

    assert _least(cost, [0] * 13) == 10
    assert looked_at == {(index, index + 1) for index in range(12)} | {(0, n) for n in range(2, 13)}


def test_no_segment_begins_or_ends_where_too_much_is_live():
    looked_at = set()

    def cost(start, stop):
        looked_at.add((start, stop))
        return 20 if stop - start == 1 else 10 + stop - start

    cuts = [0, *[20 if index in (2, 3) else 9 for index in range(1, 6)], 0]
    assert _least(cost, cuts) == 14
    several = [interval for interval in looked_at if interval[1] - interval[0] > 1]
    assert several and all(end not in (2, 3) for interval in several for end in interval)


def test_long_segments_of_one_operator_leave_time_for_others():
    work, known = 0, {}

    def reserve(start, stop):
        nonlocal work
        if (start, stop) not in known:
            work += stop - start
            known[start, stop] = 10 if work < 3000 else inf

    def cost(start, stop):
        return {2: 100, 50: 90}.get(start, 5) if stop - start == 1 else known[start, stop]

    assert _least(cost, [0] * 61, reserve) == 10


def _random_main(seed):
    """Of a program whose inputs and outputs are planned, too."""
    mod, options = draw_streamed(Random(seed)).mod, PlanningOptions(use_workspace_io=True)
    with planning_session() as session:
        return streamed_main(session.prepared(mod, options))


def _found(main):
    found = segmentations(main)
    choices = [
        [(c.live_bytes, {i: s.interleaving.columns for i, s in c.segments.items()}) for c in some]
        for some in (found.choices, found.fewest)
    ]
    return choices, found.bound_bytes


@pytest.mark.slow
def test_cuts_are_bounds_that_change_nothing(monkeypatch):
    """No way to run operators has fewer live bytes than the cut at their end, and the search finds
    the same segments without cuts."""
    bounds = 0
    for seed in levels.seeds(10, 1000):
        main, other = _random_main(seed), _random_main(seed)
        if main is None:
            continue
        cuts, found = main.ends.cuts, _found(main)
        with monkeypatch.context() as patch:
            patch.setattr(LiveEnds, "cuts", [0] * len(cuts))
            assert _found(other) == found, seed
            for (start, stop), segment in other._segments.items():
                ways = [segment, other._by_columns.get((start, stop))]
                taken = [segment_bytes(other, start, way) for way in ways if way is not None]
                assert all(cuts[stop] <= min(t.live_bytes, t.estimate_bytes) for t in taken), seed
                bounds += len(taken)
    assert bounds > 20


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
