"""Plans of graphs written node by node: which way to share is taken, and what is reserved."""

from __future__ import annotations

from itertools import pairwise

import pytest

from support.lazy import lazy

torch = lazy("torch")
graphs = lazy("support.executorch_graphs")
tensor = lazy("support.executorch_graphs:tensor")
MemoryPlanning = lazy("usmp_solver.integrations.executorch:MemoryPlanning")

pytestmark = pytest.mark.models


def chain(size=4):
    """A graph of two operators that may run in place, and its tensors."""
    graph = graphs.Graph()
    specs = [tensor((size,)) for _ in range(3)]
    node = graph.input(specs[0])
    for spec in specs[1:]:
        node = graph.call(graphs.ATEN.relu.out, node, out=spec)
    return graph.module(node), specs


def test_outputs_in_place_are_an_option():
    for option, expected in ((True, 16), (False, 32), (lambda operator: False, 32)):
        module, specs = chain()
        plan = MemoryPlanning(in_place=option).plan(16, specs, module)
        assert plan == [0, expected]
        assert plan.is_optimal
        assert plan.in_place == ({} if expected == 32 else dict(pairwise(reversed(specs))))
        assert [spec.mem_offset for spec in specs] == [None] * 3


def test_each_memory_in_use_is_padded():
    module, specs = chain()
    other = tensor((4,), lifetime=[0, 1], mem_id=3)
    assert MemoryPlanning()(16, [*specs, other], module, None, 8) == [0, 24, 0, 24]
    assert [spec.mem_offset for spec in (*specs, other)] == [0, 0, 0, 0]
    assert MemoryPlanning()(16, [], chain()[0], None, 8) == [0, 0]
    with pytest.raises(ValueError, match="extra_padding"):
        MemoryPlanning().plan(16, [], module, None, 0.5)


def test_of_two_inputs_that_would_do_the_first_gives_its_place():
    graph = graphs.Graph()
    x, y, z = tensor((4,)), tensor((4,)), tensor((4,))
    first, second = graph.input(x), graph.input(y)
    module = graph.module(graph.call(graphs.ATEN.add.out, first, second, out=z))
    plan = MemoryPlanning().plan(16, [x, y, z], module)
    assert plan == [0, 32]
    assert plan.in_place == {z: x}


def test_one_plan_that_is_not_proved_makes_the_whole_unproved():
    sizes = [(number * 37) % 23 + 5 for number in range(60)]
    lives = [(number * 13 % 40, number * 13 % 40 + 3 + number * 7 % 11) for number in range(60)]
    hard = [
        tensor((size * 4,), lifetime=list(live)) for size, live in zip(sizes, lives, strict=True)
    ]
    easy = [tensor((4,), lifetime=[0, 1], mem_id=2)]
    planning = MemoryPlanning("greedy_by_size", in_place=False)
    module = graphs.Graph().module()
    found = planning.plan(16, [*hard, *easy], module)
    alone = planning.plan(16, hard, module)
    assert not alone.is_optimal
    assert not found.is_optimal
    assert planning.plan(16, easy, module).is_optimal
    exact = MemoryPlanning("auto", work_budget=1, in_place=False).plan(16, hard, module)
    assert exact[1] <= alone[1]


def test_inner_graphs_are_beside_tensors_that_live_with_them():
    inside = tensor((4,), mem_offset=16)
    inner = graphs.Graph()
    inner.alloc(inside)
    branch = inner.module(non_const_buffer_sizes=[0, 32])
    graph = graphs.Graph()
    given, output = tensor((4,)), tensor((4,))
    operator = torch.ops.higher_order.cond
    node = graph.control(operator, [branch, branch], graph.input(given), [], spec=output)
    module = graph.module(node)
    module.input_mem_buffer_sizes = [0, 32]
    plan = MemoryPlanning()(16, [given, output], module)
    assert plan == [0, 64]
    assert inside.mem_offset == 16 + min({0, 16, 32} - {given.mem_offset, output.mem_offset})


@pytest.mark.parametrize("budget", [True, 1, None])
def test_budgets_that_are_taken(budget):
    assert MemoryPlanning(work_budget=budget).work_budget == budget
