"""What a planned module says of its entries: which states they use, and whose buffers are live."""

from __future__ import annotations

import pytest
import tvm
from tvm import tirx
from tvm.ir import IRModule
from tvm.script import ir as I
from tvm.script import tirx as T

from usmp.analysis.memory.facts import module_facts
from usmp.codegen.interface.entry_facts import entries_of_buffers, peak_within, used_states
from usmp.codegen.interface.module_interface import interface_of
from usmp.objects import BufferInfoKind, LiveRange, MemoryPlan, PlacedBuffer, TensorInfo
from usmp.objects.attributes.module_attributes import (
    ENTRIES_ATTR,
    INPUT_TENSORS_ATTR,
    MEMORY_PLAN_ATTR,
    OUTPUT_TENSORS_ATTR,
)
from usmp.transform import UnifiedStaticMemoryPlanner


@I.ir_module
class Program:
    """The state `s` is written in `a` through a view, in `b` by an operator, and read in `c`; the
    state `t` is in `c` alone. `work` has scratch memory, and `d` calls nothing else."""

    @T.prim_func(private=True)
    def copy(p: T.handle("int8"), q: T.handle("int8")):
        P = T.decl_buffer((4,), "int8", data=p)
        Q = T.decl_buffer((4,), "int8", data=q)
        for i in range(4):
            Q[i] = P[i]

    @T.prim_func(private=True)
    def work(p: T.handle("int8"), q: T.handle("int8")):
        P = T.decl_buffer((4,), "int8", data=p)
        Q = T.decl_buffer((4,), "int8", data=q)
        scratch = T.alloc_buffer((16,), "int8")
        for i in range(16):
            scratch[i] = P[i % 4]
        for i in range(4):
            Q[i] = scratch[i + 12]

    @T.prim_func
    def __tvm_a__(x: T.handle("int8"), y: T.handle("int8")):
        s = T.alloc_buffer((4,), "int8", annotations={"state_tensor": "s"})
        v = T.decl_buffer((2, 2), "int8", data=s.data)
        X = T.decl_buffer((4,), "int8", data=x)
        v[1, 1] = X[0]
        Program.copy(x, y)

    @T.prim_func
    def __tvm_b__(x: T.handle("int8"), y: T.handle("int8")):
        s = T.alloc_buffer((4,), "int8", annotations={"state_tensor": "s"})
        Program.copy(x, s.data)
        Program.work(x, y)

    @T.prim_func
    def __tvm_c__(x: T.handle("int8"), y: T.handle("int8")):
        s = T.alloc_buffer((4,), "int8", annotations={"state_tensor": "s"})
        t = T.alloc_buffer((4,), "int8", annotations={"state_tensor": "t"})
        m = T.alloc_buffer((4,), "int8")
        Program.copy(s.data, m.data)
        Program.copy(m.data, t.data)
        Program.copy(m.data, y)

    @T.prim_func
    def __tvm_d__(x: T.handle("int8"), y: T.handle("int8")):
        Program.work(x, y)


FUNCTIONS = {name: f"__tvm_{name}__" for name in "abcd"}


@pytest.fixture(scope="module")
def planned() -> IRModule:
    tensors = {
        INPUT_TENSORS_ATTR.name: [TensorInfo("x", [4], "int8")],
        OUTPUT_TENSORS_ATTR.name: [TensorInfo("y", [4], "int8")],
    }
    functions = {
        v: f.with_attrs(tensors) if v.name_hint in FUNCTIONS.values() else f
        for v, f in Program.functions.items()
    }
    mod = IRModule(functions).with_attr(ENTRIES_ATTR.name, list(FUNCTIONS))
    mod = tirx.transform.BindTarget(tvm.target.Target("c"))(mod)
    return UnifiedStaticMemoryPlanner()(mod)


def states_of(mod: IRModule) -> list[PlacedBuffer]:
    return [b for b in mod.attrs[MEMORY_PLAN_ATTR.name].buffers if b.kind == BufferInfoKind.STATE]


def test_used_states(planned):
    facts, states = module_facts(planned), states_of(planned)
    assert {str(state.name) for state in states} == {"s", "t"}
    used = {name: used_states(facts, f, states) for name, f in FUNCTIONS.items()}
    assert {name: {s.name: s.is_changed for s in found} for name, found in used.items()} == {
        "a": {"s": True},
        "b": {"s": True},
        "c": {"s": False, "t": True},
        "d": {},
    }
    assert {s.size_bytes for found in used.values() for s in found} == {4}


def test_interface_has_what_each_entry_uses(planned):
    entries = {entry.name: entry for entry in interface_of(planned, "m").entries}
    assert {name: len(entry.states) for name, entry in entries.items()} == dict(a=1, b=1, c=2, d=0)
    assert {name: entry.prefix for name, entry in entries.items()} == {
        name: f"tvmgen_m_{name}" for name in FUNCTIONS
    }
    assert [pool.name for entry in entries.values() for pool in entry.pools] == [
        "global_workspace"
    ] * 4


def placed(name: str, function: str, kind: BufferInfoKind, *spans: tuple[int, int]) -> PlacedBuffer:
    live = [LiveRange(*span) for span in spans]
    return PlacedBuffer(name, function, int(kind), "sram", 8, 4, 1, live, [])


@pytest.mark.parametrize(
    ("functions", "entries"),
    [
        ([], []),
        (["__tvm_a__"], ["a"]),
        (["__tvm_c__", "__tvm_a__"], ["a", "c"]),
        (["__tvm_a__", "work"], ["a"]),
        (["work"], ["b", "d"]),
    ],
)
def test_entries_of_buffers(planned, functions, entries):
    """Those of an operator belong to all entries that call it, unless one of them is there."""
    live = [placed("m", f, BufferInfoKind.INTERMEDIATE, (0, 1)) for f in functions]
    state = placed("s", "__tvm_b__", BufferInfoKind.STATE, (0, 1))
    facts = module_facts(planned)
    assert entries_of_buffers(facts, FUNCTIONS, [state, *live]) == entries


@pytest.mark.parametrize(
    ("positions", "peak"), [((0, 2), 0), ((0, 3), 12), ((3, 5), 12), ((5, 7), 0), ((5, 9), 12)]
)
def test_peak_within(positions, peak):
    buffer = placed("m", "f", BufferInfoKind.INTERMEDIATE, (2, 5), (8, 9))
    plan = MemoryPlan("mine", 4, [buffer])
    assert peak_within(plan, "sram", LiveRange(*positions)) == peak
    assert peak_within(plan, "dtcm", LiveRange(*positions)) == 0
