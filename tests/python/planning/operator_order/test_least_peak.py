"""Orders of operators: exact against all topological orders, bounded work on large graphs."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import levels
from support.deadlines import NEVER, OVER
from support.operator_graphs import draw_graph, is_topological, peak_bytes, topological_orders
from usmp.planning.operator_order.graph import GraphCall, GraphTensor, OperatorGraph, TensorUse
from usmp.planning.operator_order.least_peak import OperatorOrder, least_peak_order
from usmp.planning.operator_order.states import OperatorStates


def graph(sizes: list[int], calls: list[tuple[list[int], list[int]]]) -> OperatorGraph:
    """Calls with the tensors that each uses and the calls that come before it."""
    return OperatorGraph(
        tuple(map(GraphTensor, sizes)),
        tuple(GraphCall(tuple(map(TensorUse, uses)), tuple(after)) for uses, after in calls),
    )


BRANCHES = graph(
    # The importer computes all that is wide first: input, wide 0-2, narrow 0-2, result.
    [10, 100, 100, 100, 1, 1, 1, 3],
    [
        ([0], []),
        *(([0, 1 + i], [0]) for i in range(3)),
        *(([1 + i, 4 + i], [1 + i]) for i in range(3)),
        ([4, 5, 6, 7], [4, 5, 6]),
    ],
)


def test_each_branch_is_finished_before_the_next_is_begun():
    found = least_peak_order(BRANCHES)
    assert found == OperatorOrder((0, 1, 4, 2, 5, 3, 6, 7), 310, 112, 112)


def test_a_chain_keeps_its_order():
    chain = graph([5, 7, 3], [([0], []), ([0, 1], [0]), ([1, 2], [1])])
    assert least_peak_order(chain) == OperatorOrder((0, 1, 2), 12, 12, 12)


def test_no_calls():
    assert least_peak_order(OperatorGraph((), ())) == OperatorOrder((), 0, 0, 0)


def test_calls_that_may_change_places_do_so_only_for_a_lower_peak():
    same = graph([4, 4, 8], [([0], []), ([1], []), ([0, 1, 2], [0, 1])])
    assert least_peak_order(same).order == (0, 1, 2)


def test_only_the_part_with_the_peak_is_reordered():
    """Two diamonds, one after the other; both could be better, but the first is the smaller."""
    calls = [([0], [])]
    sizes = [1]
    for wide in (50, 100):
        first, tensor = len(calls), len(sizes)
        start = tensor - 1
        sizes += [wide, wide, 1, 1, 1]
        calls += [
            ([start, tensor], [first - 1]),
            ([start, tensor + 1], [first - 1]),
            ([tensor, tensor + 2], [first]),
            ([tensor + 1, tensor + 3], [first + 1]),
            ([tensor + 2, tensor + 3, tensor + 4], [first + 2, first + 3]),
        ]
    found = least_peak_order(graph(sizes, calls))
    assert found == OperatorOrder((0, 1, 2, 3, 4, 5, 6, 8, 7, 9, 10), 201, 102, 102)


def test_an_output_may_take_the_place_of_what_dies():
    """Both a and b are read by an operator that may work in place, if it is the last reader."""
    tensors = (GraphTensor(100), GraphTensor(100), GraphTensor(10), GraphTensor(1))
    in_place = GraphCall((TensorUse(0), TensorUse(1)), (0,), {(0, 1): 100})
    small = GraphCall((TensorUse(0), TensorUse(2)), (0,))
    end = GraphCall((TensorUse(1), TensorUse(2), TensorUse(3)), (1, 2))
    made = GraphCall((TensorUse(0),))
    found = least_peak_order(OperatorGraph(tensors, (made, in_place, small, end)))
    assert found == OperatorOrder((0, 2, 1, 3), 210, 111, 111)


def test_moments_of_a_call_count():
    """The input is read before the output is begun, so the scratch in between is the peak."""
    tensors = (GraphTensor(10), GraphTensor(10), GraphTensor(4))
    calls = (
        GraphCall((TensorUse(0),)),
        GraphCall((TensorUse(0, 0, 1), TensorUse(2, 1, 2), TensorUse(1, 2, 2)), (0,)),
    )
    assert least_peak_order(OperatorGraph(tensors, calls)).peak_bytes == 14


def test_many_tensors_that_may_share_in_many_ways():
    """Result j may take the place of each operand up to j."""
    count = 40
    uses = tuple(map(TensorUse, range(2 * count)))
    reuse_bytes = {(y, count + x): 10 for x in range(count) for y in range(x + 1)}
    tensors = [GraphTensor(10, at_entry=True)] * count + [GraphTensor(10, at_exit=True)] * count
    calls = (GraphCall(uses, (), reuse_bytes), GraphCall((TensorUse(2 * count),)))
    found = least_peak_order(OperatorGraph((*tensors, GraphTensor(1)), calls))
    assert found == OperatorOrder((0, 1), 401, 401, 401)


@pytest.mark.slow
@settings(max_examples=levels.number(50, 500), deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 7), st.sampled_from([0, 20, 100_000]))
def test_every_order_is_no_better(random: Random, calls: int, most_steps: int):
    drawn = draw_graph(random, calls)
    least = min(peak_bytes(drawn, order) for order in topological_orders(drawn))
    importer = peak_bytes(drawn, range(calls))
    found = least_peak_order(drawn, most_steps)
    assert is_topological(drawn, found.order)
    assert found.importer_peak_bytes == importer
    assert found.peak_bytes == peak_bytes(drawn, found.order)
    assert found.lower_bound_bytes <= least <= found.peak_bytes <= importer
    if found.peak_bytes == importer:
        assert found.order == tuple(range(calls))
    if most_steps == 100_000:
        assert found.lower_bound_bytes == least == found.peak_bytes
    assert least_peak_order(drawn, most_steps) == found


@pytest.mark.slow
def test_eight_calls_exactly():
    drawn = draw_graph(Random(5), 8)
    least = min(peak_bytes(drawn, order) for order in topological_orders(drawn))
    assert least < peak_bytes(drawn, range(8))
    assert least_peak_order(drawn).peak_bytes == least


def random_network(random: Random, calls: int, reach: int) -> OperatorGraph:
    """Each call reads one or two of the `reach` tensors before its own."""
    wanted = [
        sorted({random.randrange(max(0, call - reach), call) for _ in range(2)}) if call else []
        for call in range(calls)
    ]
    sizes = [random.randint(1, 1000) for _ in range(calls)]
    return graph(sizes, [([call, *reads], reads) for call, reads in enumerate(wanted)])


@pytest.mark.slow
@pytest.mark.parametrize(("calls", "reach"), [(200, 200), (400, 20), (1000, 5)])
def test_large_graphs_take_bounded_work(calls, reach, monkeypatch):
    looked_at = 0
    delta = OperatorStates.delta

    def counted(states, done, call):
        nonlocal looked_at
        looked_at += 1
        return delta(states, done, call)

    monkeypatch.setattr(OperatorStates, "delta", counted)
    drawn = random_network(Random(calls), calls, reach)
    found = least_peak_order(drawn, most_steps=20_000)
    assert looked_at < 2 * 20_000 + 200 * calls
    assert is_topological(drawn, found.order)
    assert found.lower_bound_bytes <= found.peak_bytes < found.importer_peak_bytes
    assert found.peak_bytes == peak_bytes(drawn, found.order)


def test_a_beam_of_one_state_where_no_steps_are_left():
    """What some call needs in every order remains as a bound."""
    found = least_peak_order(BRANCHES, most_steps=0)
    assert found == OperatorOrder((0, 1, 4, 2, 5, 3, 6, 7), 310, 112, 110)


def test_after_the_deadline_a_beam_of_one_state_is_left():
    steps = [least_peak_order(BRANCHES, deadline=deadline) for deadline in (NEVER, OVER)]
    assert steps == [least_peak_order(BRANCHES), least_peak_order(BRANCHES, most_steps=0)]
