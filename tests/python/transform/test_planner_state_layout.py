"""UnifiedStaticMemoryPlanner with the attribute `state_layout`, on hand-written TIR."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tvm import tirx
from tvm.ir import GlobalVar, IRModule
from tvm.ir.transform import PassContext
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.target import Target

from support.pool_candidates import first_line, with_pools
from usmp import PoolInfoProperties, WorkspacePoolInfo
from usmp.objects import PlacedState
from usmp.objects.attributes.module_attributes import STATE_LAYOUT_ATTR, STATE_MEMORY_POOL_ATTR
from usmp.objects.state_layout import state_layout_of
from usmp.transform import AssignPoolInfo, UnifiedStaticMemoryPlanner

C = Target("c")
SRAM, BACKUP = WorkspacePoolInfo("sram", [C]), WorkspacePoolInfo("backup", [C])


@I.ir_module
class Before:
    @T.prim_func
    def __tvm_main__():
        T.func_attr({"target": T.target("c")})
        last = T.alloc_buffer((4,), "int16", annotations={"state_tensor": "last"})
        a = T.alloc_buffer((40,), "int8")
        Before.op(last.data, a.data)

    @T.prim_func(private=True)
    def op(x: T.handle("int16"), y: T.handle("int8")):
        T.func_attr({"target": T.target("c")})
        kept = T.alloc_buffer((3,), "int8", annotations={"state_tensor": "kept"})
        T.call_extern("void", "f", x, y, kept.data)


def place(name: str, offset: int, pool: str = "sram", **fields) -> PlacedState:
    known = {"last": {"shape": [4], "dtype": "int16", "size_bytes": 8}}
    described = known.get(name, {"shape": [3], "dtype": "int8", "size_bytes": 3})
    return PlacedState(
        name=name, pool_name=pool, byte_offset=offset, alignment=1, **(described | fields)
    )


def planned(*states, pools=(SRAM,), state_pool=None, mod=Before, **options):
    mod = with_pools(mod, pools).with_attr(STATE_LAYOUT_ATTR.name, list(states))
    if state_pool is not None:
        mod = mod.with_attr(STATE_MEMORY_POOL_ATTR.name, state_pool)
    with PassContext(config={f"tir.usmp.{name}": value for name, value in options.items()}):
        return UnifiedStaticMemoryPlanner()(mod)


def places(mod) -> dict[str, tuple[str, int]]:
    return {b.name: (b.pool_name, b.byte_offset) for b in mod.attrs["memory_plan"].buffers}


def message_of(*states, **options) -> str:
    with pytest.raises(ValueError) as error:
        planned(*states, **options)
    return first_line(error)


def test_states_in_their_places_and_all_else_around():
    mod = planned(place("last", 16), place("kept", 64))
    assert places(mod) == {"last": ("sram", 16), "kept": ("sram", 64), "a": ("sram", 80)}
    described = [
        (s.name, s.dtype, list(s.shape), s.size_bytes, s.alignment, s.initial_value)
        for s in state_layout_of(mod, "m").states
    ]
    assert described == [
        ("last", "int16", [4], 8, 16, ""),
        ("kept", "int8", [3], 3, 16, ""),
    ]


def test_the_layout_of_a_plan_is_kept_by_the_next():
    first = UnifiedStaticMemoryPlanner()(with_pools(Before, [SRAM]))
    layout = list(first.attrs[STATE_LAYOUT_ATTR.name])
    assert places(planned(*layout)) == places(first)


def test_in_a_pool_of_their_own():
    states = [place("last", 32, "backup"), place("kept", 0, "backup")]
    mod = planned(*states, state_pool=BACKUP)
    assert places(mod) == {"last": ("backup", 32), "kept": ("backup", 0), "a": ("sram", 0)}


def test_in_several_pools():
    mod = planned(place("last", 32, "backup"), place("kept", 16), pools=[SRAM, BACKUP])
    found = places(mod)
    assert (found["last"], found["kept"]) == (("backup", 32), ("sram", 16))


def test_pins_of_another_session_are_not_taken():
    """Plans are remembered by what they depend on."""
    from usmp.planning.session import planning_session

    with planning_session():
        first = planned(place("last", 16), place("kept", 64))
        second = planned(place("last", 64), place("kept", 16))
        free = UnifiedStaticMemoryPlanner()(with_pools(Before, [SRAM]))
    assert (places(first)["last"], places(second)["last"]) == (("sram", 16), ("sram", 64))
    assert places(free)["last"][1] < 64


def test_assigning_pools_twice_is_assigning_them_once():
    mod = with_pools(Before, [SRAM])
    mod = mod.with_attr(STATE_LAYOUT_ATTR.name, [place("last", 16), place("kept", 64)])
    once = AssignPoolInfo()(mod)
    for name in ("__tvm_main__", "op"):
        assert AssignPoolInfo()(once)[name].same_as(once[name])


def test_a_layout_of_something_else():
    assert message_of(place("last", 0), place("more", 16)) == (
        'the state layout does not fit the model: state "more" is in the layout, but not in the '
        'model; state "kept" is in the model, but not in the layout. Leave it out and export a '
        "new one: states get new places, what old ones hold is lost, and the program has to reset "
        "the model"
    )


def test_a_pin_that_is_there_already():
    @I.ir_module
    class Pinned:
        @T.prim_func
        def __tvm_main__():
            T.func_attr({"target": T.target("c")})
            kept = T.alloc_buffer(
                (3,), "int8", annotations={"state_tensor": "kept", "fixed_offset": 32}
            )
            kept[0] = T.int8(1)

    assert places(planned(place("kept", 32), mod=Pinned)) == {"kept": ("sram", 32)}
    assert message_of(place("kept", 48), mod=Pinned) == (
        'state "kept" is at byte 32 of pool "sram", not at byte 48 of pool "sram" as the state '
        "layout says"
    )


def test_a_place_beyond_the_pool():
    small = WorkspacePoolInfo("sram", [C], PoolInfoProperties(size_hint_bytes=100))
    with pytest.raises(ValueError) as error:
        planned(place("last", 96), place("kept", 0), pools=[small])
    assert '"last" (8 bytes at offset 96)' in str(error.value)


def test_an_attribute_that_is_no_layout():
    with pytest.raises(ValueError) as error:
        UnifiedStaticMemoryPlanner()(
            with_pools(Before, [SRAM]).with_attr(STATE_LAYOUT_ATTR.name, [1])
        )
    assert first_line(error).startswith(
        'the attribute "state_layout" of the module must be a list of PlacedState, not '
    )


def program(states: list[int], scratch: list[int]) -> IRModule:
    """A main function that passes all of its buffers of these bytes to one function."""
    named = [(f"s{i}", size, True) for i, size in enumerate(states)]
    named += [(f"t{i}", size, False) for i, size in enumerate(scratch)]
    allocations = [
        tirx.AllocBuffer(
            tirx.decl_buffer((size,), "int8", name), {"state_tensor": name} if is_state else {}
        )
        for name, size, is_state in named
    ]
    arguments = [stmt.buffer.data for stmt in allocations]
    call = tirx.Evaluate(tirx.call_extern("void", "f", *arguments))
    main = tirx.PrimFunc([], tirx.SeqStmt([*allocations, call])).with_attr("target", C)
    return IRModule({GlobalVar("__tvm_main__"): main})


@pytest.mark.slow
@given(
    states=st.lists(st.tuples(st.integers(1, 40), st.integers(0, 5)), min_size=1, max_size=6),
    scratch=st.lists(st.integers(1, 100), max_size=4),
    order=st.randoms(use_true_random=False),
    algorithm=st.sampled_from(["auto", "greedy_by_size", "greedy_by_conflicts", "hill_climb"]),
    is_alone=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_any_layout_is_kept(states, scratch, order, algorithm, is_alone):
    """States in any order, with any gaps; all else takes what is left."""
    sizes = [size for size, _ in states]
    numbers = list(range(len(states)))
    order.shuffle(numbers)
    pool, end = "backup" if is_alone else "sram", 0
    wanted = []
    for number in numbers:
        size, gap = states[number]
        offset = 16 * (-(-end // 16) + gap)
        end = offset + size
        fields = {"shape": [size], "size_bytes": size}
        wanted.append(place(f"s{number}", offset, pool, **fields))
    mod = planned(
        *wanted,
        mod=program(sizes, scratch),
        state_pool=BACKUP if is_alone else None,
        algorithm=algorithm,
    )
    found = places(mod)
    assert {s.name: found[s.name] for s in wanted} == {
        s.name: (pool, s.byte_offset) for s in wanted
    }
    used: set[tuple[str, int]] = set()
    for name, (held_in, offset) in found.items():
        size = (sizes if name[0] == "s" else scratch)[int(name[1:])]
        taken = {(held_in, byte) for byte in range(offset, offset + size)}
        assert used.isdisjoint(taken)
        used |= taken
    if is_alone:
        assert {held_in for name, (held_in, _) in found.items() if name[0] == "t"} <= {"sram"}
