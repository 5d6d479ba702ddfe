"""Blocks, items and offsets in one memory, and what the algorithm returns of them."""

from __future__ import annotations

import pytest

from support.lazy import lazy

graphs = lazy("support.executorch_graphs")
tensor = lazy("support.executorch_graphs:tensor")
blocks = lazy("usmp_solver.integrations.executorch.blocks")
MemoryPlan = lazy("usmp_solver.integrations.executorch:MemoryPlan")
Region = lazy("usmp_solver.integrations.executorch.control_flow:Region")
placement = lazy("usmp_solver.integrations.executorch.placement")

pytestmark = pytest.mark.models


def test_a_block_has_all_tensors_that_lie_inside_one():
    base = tensor((16,), lifetime=[2, 5], mem_id=3)
    inside = tensor((8,), lifetime=[1, 4], storage_base=base, storage_base_offset=32)
    deeper = tensor((4,), lifetime=[6, 9], storage_base=inside, storage_base_offset=16)
    alone = tensor((4,), lifetime=[0, 1])
    found = blocks.blocks_of([deeper, base, inside, alone])
    block = found[base]
    assert found[inside] is found[deeper] is block
    assert (block.memory, block.size, block.first, block.last) == (3, 64, 1, 9)
    assert block.members == {deeper: 48, base: 0, inside: 32}
    assert (found[alone].memory, found[alone].size, found[alone].members) == (1, 16, {alone: 0})
    block.add(found[alone], 8)
    assert (block.first, block.last, block.members[alone]) == (0, 9, 8)


def test_items_are_sorted_by_memory_then_time_then_size():
    specs = [
        tensor((4,), lifetime=[3, 4]),
        tensor((4,), lifetime=[0, 1]),
        tensor((8,), lifetime=[0, 1]),
        tensor((4,), lifetime=[0, 9], mem_id=0),
    ]
    of = blocks.blocks_of(specs)
    regions = [Region(1, 100, [(7, 8), (0, 1)], {specs[0]: 4}, 0), Region(2, 5, [(1, 2)])]
    items = placement.items_by_memory(of.values(), regions)
    assert list(items) == [0, 1, 2]
    assert [(i.size, i.live, i.offset) for i in items[1]] == [
        (100, [(7, 8), (0, 1)], 0),
        (32, [(0, 2)], None),
        (16, [(0, 2)], None),
        (16, [(3, 5)], None),
    ]
    assert items[1][0].tensors == {specs[0]: 4}
    assert placement.live_bytes(items[1]) == 148
    assert placement.live_bytes([]) == 0


def test_items_are_aligned_and_those_with_a_place_stay_there():
    item = placement.Item
    items = [item(20, [(0, 2)], {}), item(24, [(1, 3)], {}, 64), item(16, [(5, 6), (0, 1)], {})]
    solution = placement.solve_memory(items, 1, 16, "exact", None)
    offsets = solution.offsets.tolist()
    assert offsets[1] == 64
    assert sorted(offsets) == [0, 32, 64] or sorted(offsets) == [0, 16, 64]
    assert solution.peak == 88
    assert solution.is_optimal


def test_a_plan_is_what_both_interfaces_of_executorch_read():
    x, y, z, other = (tensor((4,), lifetime=[0, 1]) for _ in range(4))
    after = tensor((4,), lifetime=[2, 7])
    places = {x: (1, 16), y: (1, 0), z: (1, 24), other: (2, 0), after: (1, 16)}
    plan = MemoryPlan([0, 48, 16], places, {after: x}, True)
    assert plan == [0, 48, 16]
    assert plan.bufsizes == [0, 48, 16]
    assert plan.is_optimal
    assert after.storage_base is None
    plan.write()
    assert [(s.mem_id, s.mem_offset) for s in places] == list(places.values())
    # Tensors that share bytes have one object, and others do not.
    assert [s.mem_obj_id for s in (y, x, after, z, other)] == [0, 1, 1, 1, 2]
    assert (after.storage_base, after.storage_base_offset, x.lifetime) == (x, 0, [0, 7])


def test_objects_begin_where_the_longest_one_before_ends():
    long, short, after = tensor((16,)), tensor((4,)), tensor((4,))
    plan = MemoryPlan([0, 80], {long: (1, 0), short: (1, 16), after: (1, 48)}, {}, False)
    assert [plan.spec_dict[s].mem_obj_id for s in (long, short, after)] == [0, 0, 0]
    plan.places[after] = 1, 64
    assert plan.spec_dict[after].mem_obj_id == 1
