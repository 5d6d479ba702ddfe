"""Random programs compute the same in every order that their dependencies leave."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from support.levels import number
from support.planned_programs import expected_results, run
from support.tir_programs import draw_program
from usmp.objects.attributes.module_attributes import MAIN_FUNCTION_NAME
from usmp.planning.main_function import with_main
from usmp.planning.operator_order.graph import OperatorGraph
from usmp.planning.operator_order.read_graph import operator_graph
from usmp.planning.search.stages.order import with_order


def random_order(random: Random, graph: OperatorGraph) -> list[int]:
    """Any call that may come next, again and again."""
    order: list[int] = []
    while len(order) < len(graph.calls):
        ready = [
            index
            for index, call in enumerate(graph.calls)
            if index not in order and set(call.after) <= set(order)
        ]
        order.append(random.choice(ready))
    return order


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1))
@settings(
    max_examples=number(30, in_long_run=300),
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_reordered_programs_compute_the_same(seed):
    random = Random(seed)
    program = draw_program(random)
    graph = operator_graph(program.mod, preserve_inputs=False, overlap=True)
    if graph is None:
        return
    expected = expected_results(program)
    for _ in range(3):
        main = with_order(program.mod[MAIN_FUNCTION_NAME], random_order(random, graph))
        reordered = with_main(program.mod, main)
        assert run(program, reordered) == expected
