"""Which outputs get the place of an input that dies, by graphs written node by node."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from support.lazy import lazy

torch = lazy("torch")
graphs = lazy("support.executorch_graphs")
tensor = lazy("support.executorch_graphs:tensor")
ViewSpec = lazy("usmp_solver.integrations.executorch.interface:ViewSpec")
TensorShapeDynamism = lazy("usmp_solver.integrations.executorch.interface:TensorShapeDynamism")
in_place = lazy("usmp_solver.integrations.executorch.in_place")
blocks_of = lazy("usmp_solver.integrations.executorch.blocks:blocks_of")
runs_in_place = lazy("usmp_solver.integrations.executorch.operators:runs_in_place")

pytestmark = pytest.mark.models
CHANNELS_LAST = [0, 2, 3, 1]


@pytest.fixture
def aten():
    return graphs.ATEN


def shared(module, *specs, kept=(), allowed=None, prefer_last=False):
    """The outputs that share, and the blocks."""
    blocks = blocks_of(specs)
    allowed = allowed or runs_in_place
    found = in_place.share_in_place(module, blocks, allowed, set(kept), prefer_last)
    return found, blocks


def one_call(aten, old, new, operator=None, val=None, new_val=None, **options):
    """Whether the output of an operator of one input gets the input's place."""
    graph = graphs.Graph()
    call = graph.call(operator or aten.relu.out, graph.input(old, val), out=new, val=new_val)
    found, _ = shared(graph.module(call), old, new, **options)
    assert found in ({}, {new: old})
    return bool(found)


def test_a_chain_becomes_one_block(aten):
    graph = graphs.Graph()
    x, y, z = tensor((4,)), tensor((4,)), tensor((4,))
    inside = tensor((2,), storage_base=z, storage_base_offset=0, lifetime=[2, 4])
    first = graph.call(aten.relu.out, graph.input(x), out=y)
    second = graph.call(aten.exp.out, first, out=z)
    found, blocks = shared(graph.module(second), x, y, z, inside)
    assert found == {y: x, z: y}
    block = blocks[x]
    assert all(blocks[each] is block for each in (y, z, inside))
    assert (block.first, block.last, block.size) == (0, 5, 16)
    assert block.members == {x: 0, y: 0, z: 0, inside: 0}


def test_tensors_of_different_forms_do_not_share(aten):
    assert one_call(aten, tensor((4, 6)), tensor((4, 6)))
    assert not one_call(aten, tensor((4, 6)), tensor((6, 4)))
    assert not one_call(aten, tensor((4,)), tensor((4,), torch.int32), operator=aten.neg.out)
    assert not one_call(aten, tensor((4,), const=True), tensor((4,)))
    assert not one_call(aten, tensor((4,), mem_id=2), tensor((4,)))
    assert one_call(aten, tensor((4,), mem_id=1), tensor((4,)))
    larger = tensor((4,))
    larger.alignment = 64
    assert not one_call(aten, larger, tensor((4,)))
    ordered = [tensor((1, 2, 3, 4), dim_order=CHANNELS_LAST) for _ in range(2)]
    assert one_call(aten, *ordered)
    assert not one_call(aten, ordered[0], tensor((1, 2, 3, 4)))


def test_only_operators_that_may_share(aten):
    assert not one_call(aten, tensor((4, 4)), tensor((4, 4)), operator=aten.cumsum.out)
    assert not one_call(aten, tensor((4,)), tensor((4,)), allowed=lambda operator: False)
    assert one_call(aten, tensor((4,)), tensor((4,)), allowed=lambda operator: True)


def test_tensors_that_are_kept_are_not_overwritten(aten):
    x = tensor((4,))
    assert not one_call(aten, x, tensor((4,)), kept=[x])


def test_an_output_of_no_bytes_or_inside_another_tensor_stays(aten):
    assert not one_call(aten, tensor((0,)), tensor((0,)))
    graph = graphs.Graph()
    x, base = tensor((4,)), tensor((8,), lifetime=[1, 3])
    y = tensor((4,), storage_base=base, storage_base_offset=16)
    module = graph.module(graph.call(aten.relu.out, graph.input(x), out=y))
    assert shared(module, x, base, y)[0] == {}
    assert shared(module, x, base)[0] == {}


def test_an_input_that_is_read_later_stays(aten):
    graph = graphs.Graph()
    x, y, z = tensor((4,)), tensor((4,)), tensor((4,))
    given = graph.input(x)
    first = graph.call(aten.relu.out, given, out=y)
    module = graph.module(graph.call(aten.add.out, first, given, out=z))
    # The second call is the last reader of both.
    assert shared(module, x, y, z)[0] == {z: y}
    assert shared(module, x, y, z, prefer_last=True)[0] == {z: x}


def test_memory_that_two_calls_write_is_not_shared(aten):
    graph = graphs.Graph()
    x, y = tensor((4,)), tensor((4,))
    given, memory = graph.input(x), graph.alloc(y)
    first = graph.call(aten.relu.out, given, out=memory)
    second = graph.call(aten.exp.out, given, out=memory)
    assert shared(graph.module(first, second), x, y)[0] == {}


def test_memory_of_an_input_of_the_graph_is_not_shared(aten):
    graph = graphs.Graph()
    x, y = tensor((4,)), tensor((4,))
    given = graph.input(x)
    call = graph.call(aten.relu.out, given, out=graph.input(y))
    assert shared(graph.module(call), x, y)[0] == {}


def test_memory_without_a_description_is_not_shared(aten):
    graph = graphs.Graph()
    x, y = tensor((4,)), tensor((4,))
    call = graph.call(aten.relu.out, graph.input(x), out=y)
    module = graph.module(call)
    del call.kwargs["out"].meta["spec"]
    assert shared(module, x, y)[0] == {}


def test_an_input_inside_another_tensor_keeps_its_bytes(aten):
    graph = graphs.Graph()
    base, y = tensor((4,), lifetime=[0, 2]), tensor((4,))
    x = tensor((4,), storage_base=base, storage_base_offset=0)
    module = graph.module(graph.call(aten.relu.out, graph.input(x), out=y))
    assert shared(module, base, x, y)[0] == {}


def test_a_place_passes_on_to_an_output_that_is_allocated_early(aten):
    graph = graphs.Graph()
    x, other, y = tensor((4,)), tensor((4,)), tensor((4,))
    given, memory = graph.input(x), graph.alloc(y)
    first = graph.call(aten.relu.out, given, out=other)
    module = graph.module(graph.call(aten.exp.out, first, out=memory))
    assert shared(module, x, other, y)[0] == {other: x, y: other}


def test_other_tensors_in_the_block_are_dead_before(aten):
    for end, is_shared in ((1, True), (2, False), (3, False)):
        graph = graphs.Graph()
        x, y = tensor((4,)), tensor((4,))
        given = graph.input(x)
        graph.input(tensor((1,)))
        module = graph.module(graph.call(aten.relu.out, given, out=y))
        inside = tensor((2,), storage_base=x, storage_base_offset=0, lifetime=[0, end])
        assert (shared(module, x, y, inside)[0] == {y: x}) == is_shared
    graph = graphs.Graph()
    x, y = tensor((4,)), tensor((4,))
    module = graph.module(graph.call(aten.relu.out, graph.input(x), out=y))
    inside = tensor((2,), storage_base=x, storage_base_offset=0, lifetime=[0, 3])
    assert shared(module, x, y, inside)[0] == {}


def test_arguments_that_read_the_same_bytes_in_another_order(aten):
    def shares(make_other):
        graph = graphs.Graph()
        x, y = tensor((4, 4)), tensor((4, 4))
        given = graph.input(x)
        other = graph.input(make_other(x))
        module = graph.module(graph.call(aten.add.out, given, other, out=y))
        inner = [other.meta["spec"]] if other.meta["spec"].storage_base is x else []
        for spec in inner:
            spec.lifetime = [0, 1]
        return shared(module, x, y, *inner)[0] == {y: x}

    assert shares(lambda x: ViewSpec(x, [4, 4]))
    assert not shares(lambda x: ViewSpec(x, [16]))
    assert not shares(lambda x: tensor((4, 4), storage_base=x, storage_base_offset=0))
    assert shares(lambda x: tensor((4, 4)))
    # A part of an unrelated tensor.
    assert shares(lambda x: tensor((4, 1)))


def test_inputs_in_lists_and_keywords_are_found(aten):
    graph = graphs.Graph()
    x, y, z = tensor((4,)), tensor((4,)), tensor((4,))
    first, second, memory = graph.input(x), graph.input(y), graph.alloc(z)
    keywords = {"other": second, "out": memory}
    call = graph.graph.call_function(aten.add.out, ([first],), keywords)
    call.meta["spec"] = z
    module = graph.module(call)
    assert shared(module, x, y, z)[0] == {z: x}
    assert shared(module, y, z)[0] == {z: y}


def test_sizes_that_are_bounds_have_the_same_symbols(aten):
    bound = TensorShapeDynamism.DYNAMIC_BOUND
    symbol, other = (SimpleNamespace(node=SimpleNamespace(expr=name)) for name in "st")
    values = {
        name: SimpleNamespace(shape=[size, 4])
        for name, size in zip("st", (symbol, other), strict=True)
    }

    def shares(val, new_val, old_kind=bound, new_kind=bound):
        old, new = (tensor((8, 4), shape_dynamism=kind) for kind in (old_kind, new_kind))
        return one_call(aten, old, new, val=val, new_val=new_val)

    assert shares(values["s"], values["s"])
    assert shares([values["s"], None], (values["s"],))
    assert not shares(values["s"], values["t"])
    assert not shares(values["s"], None)
    assert not shares(values["s"], values["s"], TensorShapeDynamism.STATIC)
    unbound = TensorShapeDynamism.DYNAMIC_UNBOUND
    assert not shares(values["s"], values["s"], unbound, unbound)


def test_kernels_that_count_elements_need_default_orders(aten):
    default, ordered = tensor((1, 2, 3, 4)), tensor((1, 2, 3, 4), dim_order=CHANNELS_LAST)
    small = tensor((1, 1, 1, 4))
    reads = in_place.reads_in_order
    softmax = aten._softmax.out
    assert reads(softmax, [default], default)
    assert reads(aten.add.out, [default, small], default)
    assert not reads(softmax, [ordered], ordered)
    assert reads(aten.add.out, [ordered, ordered], ordered)
    assert not reads(aten.add.out, [ordered, small], ordered)
    assert not reads(aten.add.out, [ordered], default)
    assert not one_call(
        aten, ordered, tensor((1, 2, 3, 4), dim_order=CHANNELS_LAST), operator=softmax
    )
