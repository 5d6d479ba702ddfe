"""Places of tensors: which share bytes, and how far a tensor may grow."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from usmp.analysis.relax_functions.function_memory import ManagedTensor
from usmp.runtime import GrowthPolicy, StorageGroup
from usmp.runtime.planner import plan as memory_planner_plan
from usmp.runtime.planner.growth import SizeRecords
from usmp.runtime.planner.plan import plan_places
from usmp_solver import solve
from usmp_solver.check import check_columns

ALGORITHM = "greedy_by_size"


def tensor(start, stop, is_output=False):
    return ManagedTensor(f"t{start}_{stop}", None, 1, "uint8", start, stop, is_output)


SPANS = st.tuples(st.integers(0, 12), st.integers(1, 8)).map(lambda each: (each[0], sum(each)))
CASES = st.lists(
    st.tuples(SPANS, st.integers(-1, 300), st.sampled_from([False, False, False, True])),
    max_size=12,
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(CASES, st.data())
def test_tensors_that_are_live_together_share_no_byte_however_they_grow(cases, data):
    tensors = [tensor(*span, is_output) for span, _, is_output in cases]
    sizes = [size for _, size, _ in cases]
    count = len(cases)
    escaped = data.draw(st.sets(st.integers(0, count - 1))) if count else set()
    places = plan_places(tensors, sizes, escaped, ALGORITHM)
    inner = [
        number
        for number in range(count)
        if sizes[number] >= 0 and number not in escaped and not tensors[number].is_output
    ]
    assert [n for n in range(count) if places.limits[n] >= 0 and not tensors[n].is_output] == inner
    taken = {n: range(places.offsets[n], places.offsets[n] + places.limits[n]) for n in inner}
    for n in inner:
        assert places.offsets[n] % 64 == 0
        assert places.limits[n] >= sizes[n]
        assert taken[n].stop <= places.buffer_bytes
    for a, b in combinations(inner, 2):
        shared = set(taken[a]) & set(taken[b])
        live = set(range(tensors[a].start, tensors[a].stop)) & set(
            range(tensors[b].start, tensors[b].stop)
        )
        assert not (shared and live)
        assert (b in places.sharing[a]) == (a in places.sharing[b]) == bool(shared)
    assert places.buffer_bytes == max((places.offsets[n] + sizes[n] for n in inner), default=0)


@settings(max_examples=30, deadline=None)
@given(CASES)
def test_outputs_share_nothing(cases):
    tensors = [tensor(*span, is_output=True) for span, _, _ in cases]
    sizes = [size for _, size, _ in cases]
    places = plan_places(tensors, sizes, (), ALGORITHM)
    spans = sorted(
        (places.offsets[n], places.offsets[n] + places.limits[n])
        for n in range(len(tensors))
        if sizes[n] > 0
    )
    assert all(stop <= start for (_, stop), (start, _) in pairwise(spans))
    assert all(start % 64 == 0 for start, _ in spans)
    assert max((stop for _, stop in spans), default=0) == places.output_bytes
    assert places.buffer_bytes == 0


def test_every_plan_is_checked_with_tensors_as_large_as_they_may_become(monkeypatch):
    checked = []

    def check(problem, offsets, pools):
        checked.append((problem.sizes.tolist(), offsets.tolist()))
        check_columns(problem, offsets, pools)

    monkeypatch.setattr(memory_planner_plan, "check_columns", check)
    places = plan_places([tensor(0, 2), tensor(1, 3), tensor(2, 4)], [10, 20, 5], (), ALGORITHM)
    assert checked == [(places.limits, places.offsets)]


@pytest.mark.parametrize(
    ("offsets", "words"),
    [([0, 0], "are live at one time"), ([0, 32], "is not aligned to 64 bytes")],
)
def test_an_unsound_plan_is_refused(monkeypatch, offsets, words):
    def unsound(problem, algorithm):
        return replace(solve(problem, algorithm=algorithm), offsets=np.array(offsets, np.int64))

    monkeypatch.setattr(memory_planner_plan, "solve", unsound)
    with pytest.raises(ValueError, match=words):
        plan_places([tensor(0, 2), tensor(1, 3)], [10, 20], (), ALGORITHM)


def test_reuse_is_counted_once_for_each_tensor():
    tensors = [tensor(0, 2), tensor(1, 3), tensor(2, 4), tensor(3, 5)]
    places = plan_places(tensors, [64, 64, 64, 64], (), "auto")
    assert places.buffer_bytes == 128
    assert places.num_reused == 2
    assert sorted(group.group for group in places.groups) == [
        ("t0_2", "t2_4"),
        ("t1_3", "t3_5"),
    ]


def test_a_storage_group():
    group = StorageGroup("a", 10)
    group.add_tensor("b", 30)
    group.add_tensor("c", 20)
    assert (group.group, group.max_tensor_size, group.num_managed_tensors) == (
        ("a", "b", "c"),
        30,
        3,
    )
    assert repr(group) == "StorageGroup(a, b, c; 30 bytes)"


def test_headroom_only_where_each_of_the_last_calls_grew():
    records = SizeRecords(GrowthPolicy(headroom=0.5, after=2))
    seen = []
    for run in (1, 2, 4, 5, 5, 6, 7, 9):
        records.note_plan(run)
        seen.append(records.raised([100, 0, -1])[0])
    assert seen == [100, 100, 100, 100, 100, 150, 150, 100]
    assert SizeRecords(GrowthPolicy()).raised([5, 0, -1]) == [5, 0, -1]


@pytest.mark.parametrize("headroom", [-0.1, float("nan"), float("inf")])
def test_a_headroom_that_cannot_be(headroom):
    with pytest.raises(ValueError, match="headroom must be a part of at least 0"):
        GrowthPolicy(headroom=headroom)


def test_headroom_after_no_call():
    with pytest.raises(ValueError, match="at least 1 call, not 0"):
        GrowthPolicy(after=0)
