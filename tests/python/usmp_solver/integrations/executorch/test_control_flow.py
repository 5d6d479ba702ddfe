"""The memory of inner graphs, by graphs written node by node."""

from __future__ import annotations

import pytest

from support.lazy import lazy

torch = lazy("torch")
graphs = lazy("support.executorch_graphs")
tensor = lazy("support.executorch_graphs:tensor")
interface = lazy("usmp_solver.integrations.executorch.interface")
regions_of = lazy("usmp_solver.integrations.executorch.control_flow:regions_of")

pytestmark = pytest.mark.models


def inner_graph(sizes, *specs):
    """A graph that is planned, with an allocation of each tensor."""
    graph = graphs.Graph()
    for spec in specs:
        graph.alloc(spec)
    return graph.module(non_const_buffer_sizes=sizes)


def conditional(graph, branches, spec):
    operator = torch.ops.higher_order.cond
    given = graph.input(tensor((1,)))
    return graph.control(operator, branches, given, [], spec=spec)


def summaries(module, reserved):
    return [(r.memory, r.size, r.live, r.offset) for r in regions_of(module, reserved, None)]


def test_a_conditional_keeps_its_memory_until_its_outputs_die():
    graph = graphs.Graph()
    one, other = tensor((4,), mem_offset=16), tensor((4,), mem_id=2, mem_offset=0)
    nowhere, shared = tensor((4,)), tensor((4,), mem_offset=0)
    branches = [inner_graph([0, 32], one, nowhere), inner_graph([0, 16, 64], other, shared)]
    output = tensor((4,))
    call = conditional(graph, branches, output)
    graph.input(tensor((1,)))
    graph.alloc(shared)
    used = graph.call(graphs.ATEN.relu.out, call, out=tensor((4,)))
    module = graph.module(used)
    # x, then, else, cond, x, alloc, alloc, relu.
    regions = regions_of(module, [0, 32, 64], None)
    found = [(r.memory, r.size, r.live, r.offset, r.tensors) for r in regions]
    assert found == [(1, 32, [(3, 8)], None, {one: 16}), (2, 64, [(3, 8)], None, {other: 0})]


def test_an_output_that_no_node_reads_lives_while_the_node_runs():
    graph = graphs.Graph()
    conditional(graph, [inner_graph([0, 16]), inner_graph([0, 8])], tensor((4,)))
    module = graph.module()
    assert summaries(module, [0, 16]) == [(1, 16, [(3, 4)], None)]


@pytest.mark.parametrize(("operator", "count"), [("map_impl", 1), ("scan", 1), ("while_loop", 2)])
def test_outputs_of_loops(operator, count):
    graph = graphs.Graph()
    is_while = operator == "while_loop"
    target = interface.while_loop if is_while else getattr(torch.ops.higher_order, operator)
    inner = [inner_graph([0, 16 * (number + 1)]) for number in range(count)]
    names = []
    for number, each in enumerate(inner):
        setattr(graph.root, f"graph_{number}", each)
        names.append(graph.graph.get_attr(f"graph_{number}"))
    node = graph.graph.call_function(target, (*names, [graph.input(tensor((4,)))]))
    node.meta["spec"] = tensor((4,))
    used = graph.call(graphs.ATEN.relu.out, node, out=tensor((4,)))
    module = graph.module(used)
    index = [each.target for each in module.graph.nodes].index(target)
    # Copies are made at once; a `while` runs with the memory of its last step to the end.
    stop = len(module.graph.nodes) + 1 if is_while else index + 1
    assert summaries(module, [0, 16 * count]) == [(1, 16 * count, [(index, stop)], None)]


def test_nodes_that_share_a_graph_share_a_region():
    graph = graphs.Graph()
    one, two, three = (inner_graph([0, size]) for size in (16, 32, 48))
    conditional(graph, [one, two], tensor((4,)))
    conditional(graph, [three, three], tensor((4,)))
    conditional(graph, [two, one], tensor((4,)))
    module = graph.module()
    assert summaries(module, [0, 48]) == [
        (1, 48, [(7, 8)], None),
        (1, 32, [(11, 12), (3, 4)], None),
    ]


def test_tensors_of_graphs_inside_graphs_move_with_the_region():
    deep = tensor((4,), mem_offset=0)
    middle = graphs.Graph()
    own = tensor((4,), mem_offset=16)
    middle.alloc(own)
    conditional(middle, [inner_graph([0, 16], deep), inner_graph([0, 0])], tensor((4,)))
    planned = middle.module(non_const_buffer_sizes=[0, 32])
    graph = graphs.Graph()
    conditional(graph, [planned, inner_graph([])], tensor((4,)))
    [region] = regions_of(graph.module(), [0, 32], None)
    assert region.tensors == {own: 16, deep: 0}


def test_reservations_that_no_graph_explains_hold_for_the_whole_program():
    graph = graphs.Graph()
    graph.input(tensor((4,)))
    module = graph.module()
    assert summaries(module, []) == []
    assert summaries(module, [0, 0]) == []
    assert summaries(module, [0, 128, 0, 64]) == [(1, 128, [(0, 3)], 0), (3, 64, [(0, 3)], 0)]
    graph = graphs.Graph()
    conditional(graph, [inner_graph([0, 16]), inner_graph([0, 8])], tensor((4,)))
    assert summaries(graph.module(), [0, 32]) == [(1, 32, [(0, 6)], 0)]
