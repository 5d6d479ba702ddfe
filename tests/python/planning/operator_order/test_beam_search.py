"""Orders that a beam finds: of one state, it takes the cheapest call of each step."""

from __future__ import annotations

import pytest

from support.deadlines import NEVER, OVER
from usmp.planning.operator_order.beam_search import search_with_beam
from usmp.planning.operator_order.call_ranges import CallRange
from usmp.planning.operator_order.graph import GraphCall, GraphTensor, OperatorGraph, TensorUse
from usmp.planning.operator_order.states import OperatorStates, Work


def states() -> OperatorStates:
    """Call 0 writes a tensor of 6 bytes; call 1 one of 4 that call 2 reads into one of 12 bytes;
    call 3 reads both results."""
    sizes = (6, 4, 12)
    calls = (([0], []), ([1], []), ([1, 2], [1]), ([0, 2], [0, 2]))
    return OperatorStates(
        OperatorGraph(
            tuple(map(GraphTensor, sizes)),
            tuple(GraphCall(tuple(map(TensorUse, uses)), tuple(after)) for uses, after in calls),
        )
    )


def search(work: Work, free: int = 0, limit: int = 1000) -> list[int] | None:
    graph = states()
    return search_with_beam(
        graph, CallRange(range(4), graph.start, graph.entry | 0b1111), free, limit, work
    )


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        (Work(0), [1, 0, 2, 3]),
        (Work(1000, OVER), [1, 0, 2, 3]),
        (Work(1000, NEVER), [1, 2, 0, 3]),
        (Work(1000), [1, 2, 0, 3]),
    ],
)
def test_a_beam_has_as_many_states_as_there_is_work(work, expected):
    assert search(work) == expected


def test_a_peak_that_is_reached_is_no_order():
    assert search(Work(1000), limit=19) is not None
    assert search(Work(1000), limit=18) is None
