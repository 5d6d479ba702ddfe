"""Live bytes of planned modules, exactly, at each point of the main function."""

import pytest
from tvm.script import ir as I
from tvm.script import tirx as T

from support.planner_views import (
    TARGET,
    Chain,
    WithScratch,
    bound,
    offsets,
    plan,
    with_io,
    workspace,
)
from usmp.analysis import live_bytes
from usmp.analysis.live_byte_counts import _taken
from usmp.objects import BufferInfoKind, PlacedBuffer, PoolInfoProperties, WorkspacePoolInfo

POOL = "global_workspace"


def pins(mod, **config):
    """Live ranges on entry and after each statement that runs something, in order."""
    return list(live_bytes(plan(mod, **config)).values())


def ranges(mod, pool=POOL, **config):
    return [live[pool] for live in pins(mod, **config)]


def pinned(offset, **annotations):
    return {"fixed_offset": offset, **annotations}


def test_from_the_first_mention_to_the_last():
    # a at [48, 80), b at [0, 48), c at [48, 64)
    live = ranges(Chain, algorithm="greedy_by_size")
    assert live == [[], [(48, 80)], [(0, 48)], [(48, 64)], []]


def test_inputs_live_from_entry_and_outputs_to_exit():
    # in at [64, 80), a at [32, 64), b at [64, 112), c at [0, 16), out at [16, 32)
    planned = plan(with_io(Chain), use_workspace_io=True, algorithm="greedy_by_size")
    places = {
        str(b.name): (int(b.byte_offset), int(b.byte_offset) + int(b.size_bytes))
        for b in planned.attrs["memory_plan"].buffers
    }
    live = [bytes_[POOL] for bytes_ in live_bytes(planned).values()]
    assert live == [[places[name]] for name in ("in", "a", "b", "c", "out")]


def test_preserved_inputs_live_to_exit():
    disabled = ("OverlapInputsAndOutputs",)
    io = {"use_workspace_io": True, "preserve_inputs": True}
    planned = plan(with_io(Chain), disabled_pass=disabled, **io)
    (place,) = (b for b in planned.attrs["memory_plan"].buffers if b.name == "in")
    kept = range(int(place.byte_offset), int(place.byte_offset) + 16)
    for live in live_bytes(planned).values():
        assert set(kept) <= {byte for start, stop in live[POOL] for byte in range(start, stop)}


def test_scratch_of_operators_is_dead_between_calls():
    assert ranges(WithScratch) == [[], [], [], []]


def test_pools_are_apart():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__(x: T.Buffer((16,), "int8"), y: T.Buffer((16,), "int8")):
            a = T.alloc_buffer((16,), "int8")
            b = T.alloc_buffer((16,), "int8")
            T.evaluate(T.call_extern("int32", "g", x.data, y.data))
            T.evaluate(T.call_extern("int32", "f", x.data, a.data, b.data))
            T.evaluate(T.call_extern("int32", "g", a.data, y.data))
            T.evaluate(T.call_extern("int32", "g", b.data, y.data))

    planned = plan(Mod, pools=[workspace("fast", 16), workspace("slow")])
    assert list(live_bytes(planned).values()) == [
        {"fast": [], "slow": []},
        {"fast": [], "slow": []},
        {"fast": [(0, 16)], "slow": [(0, 16)]},
        {"fast": [], "slow": [(0, 16)]},
        {"fast": [], "slow": []},
    ]


@pytest.mark.parametrize(
    ("kept", "also_kept"),
    [
        ({"live_throughout": True}, {"live_throughout": True}),
        ({"state_tensor": "s"}, {"state_tensor": "r"}),
    ],
    ids=["throughout", "state"],
)
def test_what_is_kept_throughout_is_never_dead(kept, also_kept):
    @I.ir_module
    class Mod:
        @T.prim_func
        def op(p: T.Buffer((8,), "int8")):
            mine = T.alloc_buffer((4,), "int8", annotations=pinned(16, **kept))
            T.evaluate(T.call_extern("int32", "f", p.data, mine.data))

        @T.prim_func
        def __tvm_main__(x: T.Buffer((8,), "int8"), y: T.Buffer((8,), "int8")):
            a = T.alloc_buffer((8,), "int8", annotations=pinned(0))
            of_main = T.alloc_buffer((8,), "int8", annotations=pinned(32, **also_kept))
            Mod.op(x.data)
            T.evaluate(T.call_extern("int32", "f", x.data, a.data))
            Mod.op(a.data)
            T.evaluate(T.call_extern("int32", "f", of_main.data, y.data))

    always = [(16, 20), (32, 40)]
    assert ranges(Mod) == [always, always, [(0, 8), *always], always, always]


def test_views_and_pointers_are_what_they_point_to():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__(x: T.handle("int8"), y: T.handle("int8")):
            a = T.alloc_buffer((16,), "int8", annotations=pinned(0))
            b = T.alloc_buffer((16,), "int8", annotations=pinned(16))
            part = T.decl_buffer((4,), "int8", data=T.address_of(a[4]))
            T.evaluate(T.call_extern("int32", "f", x, y))
            pointer: T.let[T.handle("int8")] = T.address_of(b[0])
            T.evaluate(T.call_extern("int32", "f", a.data, b.data))
            T.evaluate(T.call_extern("int32", "f", x, y))
            T.evaluate(T.call_extern("int32", "f", part.data, y))
            T.evaluate(T.call_extern("int32", "f", pointer, y))

    live = ranges(Mod)
    # The statement that binds the pointer runs too, and keeps what it points to.
    assert live == [[], [], [(16, 32)], [(0, 32)], [(0, 32)], [(16, 32)], []]


def test_loops_and_branches_are_one_statement():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__(x: T.Buffer((8,), "int8"), y: T.Buffer((8,), "int8")):
            a = T.alloc_buffer((16,), "int8", annotations=pinned(0))
            b = T.alloc_buffer((16,), "int8", annotations=pinned(16))
            for i in range(8):
                a[i] = x[i]
            for i in range(8):
                inner = T.alloc_buffer((16,), "int8", annotations=pinned(32))
                inner[i] = a[i]
                b[i] = inner[i]
            if x[0] > T.int8(0):
                y[0] = b[0]

    assert ranges(Mod) == [[], [(0, 16)], [(16, 32)], []]


def test_overlapping_and_adjacent_buffers_are_one_range():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__(x: T.handle("int8"), y: T.handle("int8")):
            a = T.alloc_buffer((16,), "int8", annotations=pinned(0))
            b = T.alloc_buffer((16,), "int8", annotations=pinned(16))
            T.evaluate(T.call_extern("int32", "f", x, y))
            T.evaluate(T.call_extern("int32", "f", x, a.data, b.data))
            T.evaluate(T.call_extern("int32", "f", a.data, b.data, y))

    assert ranges(Mod) == [[], [], [(0, 32)], []]


def test_two_buffers_of_one_place_are_told_apart():
    """The input and the output, as large, in the same bytes."""

    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__(x: T.Buffer((16,), "int8"), y: T.Buffer((16,), "int8")):
            a = T.alloc_buffer((16,), "int8")
            T.evaluate(T.call_extern("int32", "f", x.data))
            T.evaluate(T.call_extern("int32", "f", x.data, a.data))
            T.evaluate(T.call_extern("int32", "f", a.data, y.data))
            T.evaluate(T.call_extern("int32", "f", y.data))

    planned = plan(with_io(Mod), use_workspace_io=True)
    assert offsets(planned) == {"in": 16, "out": 16, "a": 0}
    live = [bytes_[POOL] for bytes_ in live_bytes(planned).values()]
    assert live == [[(16, 32)], [(16, 32)], [(0, 16)], [(16, 32)], [(16, 32)]]


def test_a_buffer_in_a_pool_with_an_alignment_is_live_in_its_whole_lines():
    pool = WorkspacePoolInfo("lines", [TARGET], PoolInfoProperties(alignment=64))
    planned = plan(Chain, pools=[pool], algorithm="greedy_by_size")
    assert offsets(planned) == {"a": 64, "b": 0, "c": 64}
    live = [bytes_["lines"] for bytes_ in live_bytes(planned).values()]
    assert live == [[], [(64, 128)], [(0, 64)], [(64, 128)], []]


@pytest.mark.parametrize(
    ("placed", "size", "taken"),
    [
        ([(64, 64)], 64, 0),
        ([(64, 64)], 63, 0),
        ([(64, 64)], 1, 0),
        # Not rounded up to lines, but larger or smaller.
        ([(64, 64)], 0, None),
        ([(128, 64)], 64, None),
        ([(64, 64)], 65, None),
        ([(17, 1)], 16, None),
        ([(15, 1)], 16, None),
        # One that has no padding is preferred, then the first.
        ([(64, 64), (60, 4)], 60, 1),
        ([(64, 64), (61, 4)], 60, 0),
        ([(16, 16), (16, 16)], 16, 0),
        ([(8, 8), (32, 16), (24, 8)], 24, 2),
        ([(8, 8), (32, 16), (24, 8)], 20, 1),
        ([], 16, None),
    ],
)
def test_a_declaration_takes_the_buffer_of_its_place_that_has_its_size(placed, size, taken):
    """Each buffer of the place has (bytes, alignment), and may end with padding."""
    waiting = [
        PlacedBuffer(f"b{i}", "main", BufferInfoKind.INTERMEDIATE, POOL, 0, *each, [], [])
        for i, each in enumerate(placed)
    ]
    names = [str(b.name) for b in waiting]
    found = _taken(waiting, size)
    assert (None if found is None else names.index(found.name)) == taken
    assert [b.name for b in waiting] == [n for i, n in enumerate(names) if i != taken]


def test_nothing_runs():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__(x: T.Buffer((8,), "int8")):
            T.alloc_buffer((8,), "int8")

    assert live_bytes(plan(Mod)) == {}


def test_a_module_that_is_not_planned_is_refused():
    with pytest.raises(ValueError, match="not planned; apply UnifiedStaticMemoryPlanner first"):
        live_bytes(bound(Chain))
