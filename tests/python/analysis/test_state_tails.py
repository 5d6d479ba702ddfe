"""What lies behind a state in its buffer: when, and who may be there otherwise."""

from __future__ import annotations

import pytest
import tvm
from tvm import tirx
from tvm.ir import IRModule
from tvm.script import ir as I
from tvm.script import tirx as T

from support.buffer_views import TARGET
from support.planner_views import plan
from usmp.analysis import extract_buffer_info, live_bytes
from usmp.analysis.memory.facts import module_facts
from usmp.analysis.state_tails import kept_bytes, state_tails
from usmp.transform import AssignPoolInfo, PoisonDeadBytes

POOL = "global_workspace"


@I.ir_module
class Shift:
    """s (4 bytes) is the start of w (6): x goes behind it, y is computed of w, and w is shifted.

    a is in use before, b after x is behind the state.
    """

    @T.prim_func
    def put(p: T.handle("int8"), q: T.handle("int8")):
        to = T.decl_buffer((2,), "int8", data=q)
        given = T.decl_buffer((2,), "int8", data=p)
        for i in range(2):
            to[i] = given[i]

    @T.prim_func
    def fill(p: T.handle("int8")):
        to = T.decl_buffer((4,), "int8", data=p)
        for i in range(4):
            to[i] = T.int8(1)

    @T.prim_func
    def read(p: T.handle("int8"), q: T.handle("int8")):
        given = T.decl_buffer((6,), "int8", data=p)
        to = T.decl_buffer((2,), "int8", data=q)
        for i in range(2):
            to[i] = given[i] + given[i + 4]

    @T.prim_func
    def move(p: T.handle("int8"), q: T.handle("int8")):
        given = T.decl_buffer((4,), "int8", data=p)
        to = T.decl_buffer((4,), "int8", data=q)
        for i in range(4):
            to[i] = given[i]

    @T.prim_func
    def __tvm_main__(x: T.handle("int8"), y: T.handle("int8")):
        w = T.alloc_buffer((6,), "int8", annotations={"state_tensor": "s", "state_bytes": 4})
        flag = T.alloc_buffer((1,), "uint8", annotations={"state_tensor": "flag"})
        a = T.alloc_buffer((2,), "int8")
        b = T.alloc_buffer((2,), "int8")
        s = T.decl_buffer((4,), "int8", data=T.address_of(w[0]))
        behind = T.decl_buffer((2,), "int8", data=T.address_of(w[4]))
        last = T.decl_buffer((4,), "int8", data=T.address_of(w[2]))
        if flag[0] == T.uint8(0):
            Shift.fill(s.data)
            flag[0] = T.uint8(1)
        Shift.put(x, a.data)
        Shift.put(a.data, y)
        Shift.put(x, behind.data)
        Shift.read(w.data, b.data)
        Shift.move(last.data, s.data)
        Shift.put(b.data, y)


def infos(mod: IRModule, **options):
    mod = AssignPoolInfo()(tirx.transform.BindTarget(TARGET)(mod))
    analysis = extract_buffer_info(mod["__tvm_main__"], mod, **options)
    return {str(info.name_hint): info for info in analysis.buffer_info_stmts}


def ranges(info) -> list[tuple[int, int]]:
    return [(int(live.start), int(live.stop)) for live in info.live_ranges]


def tail(mod: IRModule) -> tuple[int, int]:
    ((_, span),) = state_tails(module_facts(mod).of("__tvm_main__")).items()
    return span


def changed(*changes: tuple[str, str]) -> IRModule:
    """`Shift` with other text in its main function."""
    text = Shift.script()
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    return tvm.script.from_source(text)


def test_the_tail_is_in_use_from_the_first_to_the_last_statement_that_reaches_it():
    found = infos(Shift)
    (a,), (b,) = ranges(found["a"]), ranges(found["b"])
    start, stop = tail(Shift)
    # After what fills the state in the first run, and after `a`.
    assert a[1] == start
    assert b[0] < stop < b[1]


def test_what_is_dead_then_may_lie_there():
    found = infos(Shift)
    assert {o.name_hint: d for o, d in found["s"].overlaps.items()} == {"a": 4}
    assert ranges(found["s"]) == [(0, max(stop for i in found.values() for _, stop in ranges(i)))]
    assert [dict(found[name].overlaps.items()) for name in ("a", "b", "flag")] == [{}, {}, {}]
    assert dict(infos(Shift, overlap=False)["s"].overlaps.items()) == {}


@pytest.mark.parametrize("algorithm", ["auto", "greedy_by_size", "hill_climb"])
def test_the_plan_has_the_state_and_its_tail(algorithm):
    placed = {str(b.name): b for b in plan(Shift, algorithm=algorithm).attrs["memory_plan"].buffers}
    assert list(placed) == ["s", "s_new_rows", "flag", "a", "b"]
    state, behind = placed["s"], placed["s_new_rows"]
    assert (state.kind, state.size_bytes) == (3, 4)
    assert (behind.kind, behind.size_bytes) == (0, 2)
    assert behind.byte_offset == state.byte_offset + 4
    assert ranges(behind) == [tail(Shift)]
    assert dict(state.overlaps) == dict(behind.overlaps) == {}


def test_live_bytes_know_the_tail():
    planned = plan(Shift)
    behind = next(b for b in planned.attrs["memory_plan"].buffers if b.name == "s_new_rows")
    at = range(int(behind.byte_offset), int(behind.byte_offset) + 2)
    live = [
        all(any(start <= byte < stop for start, stop in ranges[POOL]) for byte in at)
        for ranges in live_bytes(planned).values()
    ]
    assert live[-2:] == [False, False]
    assert any(live)
    assert "165" in str(PoisonDeadBytes()(planned)["__tvm_main__"])


@pytest.mark.parametrize("new", ["Module.read(w.data, a.data)", "w[5] = T.int8(0)"])
def test_what_may_reach_the_tail_in_a_branch_counts(new):
    """The first position is that of the condition."""
    assert tail(changed(("Module.fill(s.data)", new)))[0] == 1


def test_a_tail_that_nothing_reaches_is_always_free():
    mod = changed(
        ("Module.put(x, behind.data)", "T.evaluate(0)"),
        ("Module.read(w.data, b.data)", "Module.put(x, b.data)"),
        ("Module.move(last.data, s.data)", "Module.fill(s.data)"),
    )
    assert tail(mod) == (0, 1)


@pytest.mark.parametrize("kept", [0, -1, 7])
def test_a_state_is_a_part_of_its_buffer(kept):
    mod = changed(('"state_bytes": 4', f'"state_bytes": {kept}'))
    with pytest.raises(ValueError) as error:
        infos(mod)
    assert str(error.value) == (
        'the annotation "state_bytes" of buffer w must be at least 1 and no more than its 6 bytes, '
        f"but is {kept}"
    )


def test_all_of_a_buffer_may_be_the_state():
    mod = changed(('"state_bytes": 4', '"state_bytes": 6'))
    assert state_tails(module_facts(mod).of("__tvm_main__")) == {}
    (stmt,) = (
        s
        for s in mod["__tvm_main__"].body.seq
        if isinstance(s, tirx.AllocBuffer) and s.buffer.name == "w"
    )
    assert kept_bytes(stmt) == 6


@pytest.mark.parametrize("overlap", [True, False])
def test_what_is_no_state_has_no_part_that_is_one(overlap):
    mod = changed((', "state_tensor": "s"', ""))
    with pytest.raises(ValueError) as error:
        infos(mod, overlap=overlap)
    assert str(error.value) == (
        'buffer w is annotated with "state_bytes", but holds no state; annotate it with '
        '"state_tensor" too, the name of the state'
    )
