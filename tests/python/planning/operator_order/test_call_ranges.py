"""Where orders of calls can be cut, and bytes that some call needs in each of them."""

from __future__ import annotations

import pytest

from usmp.planning.operator_order.call_ranges import call_ranges_of, lower_bound
from usmp.planning.operator_order.graph import GraphCall, GraphTensor, OperatorGraph, TensorUse
from usmp.planning.operator_order.states import OperatorStates


def states(tensors, calls, shares=False) -> OperatorStates:
    """Calls with the tensors that each uses and the calls that come before it."""
    sized = tuple(each if isinstance(each, GraphTensor) else GraphTensor(each) for each in tensors)
    made = tuple(GraphCall(tuple(map(TensorUse, uses)), tuple(after)) for uses, after in calls)
    return OperatorStates(OperatorGraph(sized, made), shares)


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ([], []),
        ([[]], [range(1)]),
        ([[], [0], [1]], [range(1), range(1, 2), range(2, 3)]),
        ([[], [], []], [range(3)]),
        # A diamond; two, with the end of the first before the second; and a path around.
        ([[], [0], [0], [1, 2]], [range(1), range(1, 3), range(3, 4)]),
        (
            [[], [0], [0], [1, 2], [3], [3], [4, 5]],
            [range(1), range(1, 3), range(3, 4), range(4, 6), range(6, 7)],
        ),
        ([[], [0], [0], [1, 2], [2], [3, 4]], [range(1), range(1, 5), range(5, 6)]),
        ([[], [], [0, 1], [2]], [range(2), range(2, 3), range(3, 4)]),
        ([[], [0], []], [range(3)]),
    ],
)
def test_calls_are_cut_where_all_come_before_all_that_follow(after, expected):
    graph = states([1] * len(after), [([n], before) for n, before in enumerate(after)])
    found = list(call_ranges_of(graph))
    assert [each.calls for each in found] == expected
    done = graph.start.done
    for each in found:
        assert each.start.done == done
        done |= sum(1 << call for call in each.calls)
        assert each.end == done
        assert each.start.ready == tuple(
            call for call in each.calls if not any(other in each.calls for other in after[call])
        )


IN, OUT = GraphTensor(10, at_entry=True), GraphTensor(20, at_exit=True)


@pytest.mark.parametrize(
    ("tensors", "calls", "expected"),
    [
        ([], [], 0),
        ([7, 5], [([0], []), ([0, 1], [0])], 12),
        # The first tensor is read again after the call in the middle.
        ([7, 5, 3], [([0], []), ([1], [0]), ([0, 2], [1])], 12),
        ([7, 5, 3], [([0], []), ([0], [0]), ([1, 2], [1])], 8),
        # It may be done before or after the call beside it, so it is not counted there.
        ([7, 9], [([0], []), ([1], []), ([0, 1], [0, 1])], 16),
        ([7, 9, 1], [([0], []), ([1], []), ([0], [0]), ([1, 2], [1])], 10),
        # Inputs are live from entry, outputs to exit.
        ([IN, 50], [([1], []), ([0], [0])], 60),
        ([IN, 50], [([0], []), ([1], [0])], 50),
        ([OUT, 50], [([0], []), ([1], [0])], 70),
        ([OUT, 50], [([1], []), ([0], [0])], 50),
        # Only a call that needs more than others is the bound, wherever it is.
        ([1, 2, 30, 4], [([0], []), ([1], [0]), ([2], [1]), ([3], [2])], 30),
        ([4, 9, 8], [([0], []), ([1], [0]), ([2], [1]), ([0], [2])], 13),
    ],
)
def test_some_call_needs_these_bytes_in_every_order(tensors, calls, expected):
    graph = states(tensors, calls)
    _, needs = graph.make_all(graph.start, range(len(calls)))
    assert lower_bound(graph, needs) == expected


@pytest.mark.parametrize(("shares", "expected"), [(False, 12), (True, 7)])
def test_shared_bytes_are_taken_off_the_bound(shares, expected):
    calls = (GraphCall((TensorUse(0),)), GraphCall((TensorUse(0), TensorUse(1)), (0,), {(0, 1): 5}))
    graph = OperatorStates(OperatorGraph((GraphTensor(7), GraphTensor(5)), calls), shares)
    assert lower_bound(graph, [7, 12]) == expected


def test_bytes_of_what_is_certainly_read_later_are_not_shared():
    share = GraphCall((TensorUse(0), TensorUse(1)), (0,), {(0, 1): 5})
    calls = (GraphCall((TensorUse(0),)), share, GraphCall((TensorUse(0),), (1,)))
    graph = OperatorStates(OperatorGraph((GraphTensor(7), GraphTensor(5)), calls))
    assert lower_bound(graph, [7, 12, 7]) == 12


def test_calls_that_may_share_bytes_later_do_so_at_best():
    """Whether a call is the last reader depends on the order: the bound takes that it is."""
    tensors = (GraphTensor(7), GraphTensor(5), GraphTensor(5))
    share = {(0, 1): 5, (0, 2): 5}
    calls = (
        GraphCall((TensorUse(0),)),
        *(GraphCall((TensorUse(0), TensorUse(n)), (0,), share) for n in (1, 2)),
    )
    graph = OperatorStates(OperatorGraph(tensors, calls))
    assert lower_bound(graph, [7, 12, 12]) == 7
