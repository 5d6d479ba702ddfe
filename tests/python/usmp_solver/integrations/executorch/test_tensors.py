"""Descriptions of tensors: which are taken, and how long they live."""

from __future__ import annotations

import pytest

from support.lazy import lazy

graphs = lazy("support.executorch_graphs")
tensor = lazy("support.executorch_graphs:tensor")
tensors = lazy("usmp_solver.integrations.executorch.tensors")
ViewSpec = lazy("usmp_solver.integrations.executorch.interface:ViewSpec")

pytestmark = pytest.mark.models


def live(**fields):
    return tensor((4,), **{"lifetime": [0, 1], **fields})


def test_a_view_has_the_place_of_its_base():
    base = live(mem_id=2)
    view = ViewSpec(base, [2, 2])
    assert tensors.base_of(view) is tensors.base_of(base) is base
    assert tensors.prepare(16, [view, base, view]) == [base]
    assert (tensors.memory_of(base), tensors.memory_of(live())) == (2, 1)


def test_sizes_become_multiples_of_the_alignment():
    spec = live()
    for alignment in (1, 64, 1 << 31):
        tensors.prepare(alignment, [spec])
        assert spec.allocated_memory == max(alignment, 16)


@pytest.mark.parametrize("alignment", [0, 3, 12, 48, 1 << 32, "16"])
def test_alignments_that_are_refused(alignment):
    with pytest.raises(ValueError, match="the alignment"):
        tensors.prepare(alignment, [])


def test_the_most_bytes_that_a_memory_may_have():
    half = [tensor(((1 << 61) // 4,), lifetime=[0, 1]) for _ in range(2)]
    assert tensors.prepare(1, half) == half
    with pytest.raises(ValueError, match="takes 1 bytes, with the tensors before it"):
        tensors.prepare(1, [*half, tensor((1,), graphs.torch.uint8, lifetime=[0, 1])])


@pytest.mark.parametrize(
    ("fields", "is_taken"),
    [
        ({"lifetime": (0, 0)}, True),
        ({"lifetime": [3, 3]}, True),
        ({"lifetime": [0, 1, 2]}, False),
        ({"lifetime": [0]}, False),
        ({"lifetime": "01"}, False),
        ({"lifetime": [None, 1]}, False),
        ({"lifetime": [0, None]}, False),
        ({"lifetime": [1, 0]}, False),
        ({"lifetime": [0.0, 1]}, False),
        ({"mem_id": 1}, True),
        ({"mem_id": 65535}, True),
        ({"mem_id": 65536}, False),
        ({"mem_id": 0}, False),
        ({"mem_id": 1.0}, False),
    ],
)
def test_lifetimes_and_memories(fields, is_taken):
    spec = live(**fields)
    if is_taken:
        assert tensors.prepare(16, [spec]) == [spec]
        return
    with pytest.raises(ValueError, match="tensor of torch"):
        tensors.prepare(16, [spec])


@pytest.mark.parametrize(
    ("fields", "of_base", "is_taken"),
    [
        ({"storage_base_offset": 0}, {}, True),
        ({"storage_base_offset": 48}, {}, True),
        ({"storage_base_offset": 64}, {}, False),
        ({"storage_base_offset": -16}, {}, False),
        ({"storage_base_offset": 24}, {}, False),
        ({"storage_base_offset": 0.0}, {}, False),
        ({"mem_id": 2}, {"mem_id": 2}, True),
        ({"mem_id": None}, {"mem_id": 2}, True),
        ({"mem_id": 1}, {"mem_id": None}, True),
        ({"mem_id": 1}, {"mem_id": 2}, False),
    ],
)
def test_tensors_inside_others(fields, of_base, is_taken):
    base = tensor((16,), lifetime=[0, 1], **of_base)
    spec = live(storage_base=base, **fields)
    if is_taken:
        assert tensors.prepare(16, [spec, base]) == [spec, base]
        return
    with pytest.raises(ValueError, match="tensor of torch"):
        tensors.prepare(16, [spec, base])


def test_tensors_inside_others_that_are_inside_others():
    outer = tensor((16,), lifetime=[0, 1])
    middle = tensor((8,), lifetime=[0, 1], storage_base=outer, storage_base_offset=32)
    inner = live(storage_base=ViewSpec(middle, [8, 1]), storage_base_offset=16)
    assert tensors.prepare(16, [inner, middle, outer]) == [inner, middle, outer]
    with pytest.raises(ValueError, match="which is not planned here"):
        tensors.prepare(16, [inner, middle])
    with pytest.raises(ValueError, match="which is not planned here"):
        tensors.prepare(16, [inner, outer])
    outer.storage_base = middle
    with pytest.raises(ValueError, match="lies inside itself"):
        tensors.prepare(16, [inner, middle, outer])


def test_tensors_live_up_to_their_last_use():
    graph = graphs.Graph()
    base = tensor((16,))
    x = tensor((4,), storage_base=base, storage_base_offset=0)
    early, unplanned, y = tensor((4,)), tensor((4,)), tensor((4,))
    graph.alloc(base)
    given = graph.input(x)
    graph.call(graphs.ATEN.add.out, given, graph.input(early), out=y)
    used = graph.call(graphs.ATEN.add.out, given, graph.input(unplanned), out=tensor((4,)))
    module = graph.module(used)
    x.lifetime, base.lifetime, early.lifetime = [1, 2], [0, 3], [2, 9]
    unplanned.lifetime, y.lifetime = [None, None], [3, 3]
    tensors.extend_lifetimes(module)
    # base, x, early, y, add, unplanned, memory, add, output
    assert (x.lifetime, base.lifetime) == ([1, 7], [0, 7])
    assert (early.lifetime, unplanned.lifetime, y.lifetime) == ([2, 9], [None, None], [3, 4])
