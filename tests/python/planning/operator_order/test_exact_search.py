"""The least peak of a section: against all orders of small graphs, and what ends the search."""

from __future__ import annotations

from random import Random

import pytest

from support.operator_graphs import draw_graph, peak_bytes, topological_orders
from usmp.planning.operator_order.beam_search import search_with_beam
from usmp.planning.operator_order.call_ranges import CallRange, call_ranges_of
from usmp.planning.operator_order.exact_search import Found, search_exactly
from usmp.planning.operator_order.graph import GraphCall, GraphTensor, OperatorGraph, TensorUse
from usmp.planning.operator_order.states import OperatorStates, Work

PLENTY = 100_000


def whole(states: OperatorStates) -> CallRange:
    """All calls as one section."""
    count = len(states.graph.calls)
    return CallRange(range(count), states.start, states.entry | (1 << count) - 1)


def branches() -> OperatorStates:
    """Input, wide 0-2, narrow 0-2, result."""
    calls = [
        ([0], []),
        *(([0, 1 + i], [0]) for i in range(3)),
        *(([1 + i, 4 + i], [1 + i]) for i in range(3)),
        ([4, 5, 6, 7], [4, 5, 6]),
    ]
    return OperatorStates(
        OperatorGraph(
            tuple(map(GraphTensor, [10, 100, 100, 100, 1, 1, 1, 3])),
            tuple(GraphCall(tuple(map(TensorUse, uses)), tuple(after)) for uses, after in calls),
        )
    )


ORDER = [1, 4, 2, 5, 3, 6]


@pytest.mark.parametrize(
    ("free", "limit", "expected"),
    [
        (0, 310, Found(ORDER, 112, is_proved=True)),
        (0, 113, Found(ORDER, 112, is_proved=True)),
        # Nothing is better than the limit.
        (0, 112, Found(None, 112, is_proved=True)),
        (0, 50, Found(None, 50, is_proved=True)),
    ],
)
def test_the_order_with_the_least_peak(free, limit, expected):
    states = branches()
    section = list(call_ranges_of(states))[1]
    assert search_exactly(states, section, free, limit, Work(PLENTY)) == expected
    beam = search_with_beam(states, section, free, limit, Work(PLENTY))
    assert (None if beam is None else list(beam)) == expected.order


@pytest.mark.parametrize("free", [112, 150, 211])
def test_bytes_that_are_free_are_no_peak(free):
    """Any order below them will do; two wide tensors at once take 210 bytes and more."""
    states = branches()
    section = list(call_ranges_of(states))[1]
    found = search_exactly(states, section, free, 310, Work(PLENTY))
    beam = search_with_beam(states, section, free, 310, Work(PLENTY))
    for order in (found.order, beam):
        assert max(states.make_all(section.start, order)[1]) <= free
    assert (found.lower_bound, found.is_proved) == (free, True)


def test_a_search_without_work_left_proves_nothing():
    states = branches()
    section = list(call_ranges_of(states))[1]
    assert search_exactly(states, section, 5, 310, Work(0)) == Found(None, 5, is_proved=False)
    assert search_exactly(states, section, 5, 310, Work(8)) == Found(None, 110, is_proved=False)


def test_work_is_counted():
    """Each step that a search looks at is work; the ends of the sections need none."""
    states = branches()
    for section, steps in zip(call_ranges_of(states), (1, 15, 1), strict=True):
        work = Work(PLENTY)
        search_exactly(states, section, 0, 310, work)
        assert PLENTY - work.left >= steps
        assert PLENTY - work.left <= 80
        work = Work(PLENTY)
        search_with_beam(states, section, 0, 310, work)
        assert steps <= PLENTY - work.left <= 80


@pytest.mark.parametrize("seed", range(12))
def test_no_order_of_a_small_graph_is_better(seed):
    graph = draw_graph(Random(seed), 5)
    states = OperatorStates(graph)
    importer = peak_bytes(graph, range(5))
    least = min(peak_bytes(graph, order) for order in topological_orders(graph))
    found = search_exactly(states, whole(states), 0, importer + 1, Work(PLENTY))
    beam = search_with_beam(states, whole(states), 0, importer + 1, Work(PLENTY))
    assert found.is_proved
    assert found.lower_bound == peak_bytes(graph, found.order) == peak_bytes(graph, beam) == least
