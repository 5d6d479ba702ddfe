"""Which schedules are taken, by what they save and what memory they need."""

from __future__ import annotations

import pytest
from tvm import tirx
from tvm.ir import IRModule
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.target import Target

from usmp.objects import Executor, PoolInfoProperties, WorkspaceMemoryPools, WorkspacePoolInfo
from usmp.objects.attributes import EXECUTOR_ATTR, WORKSPACE_MEMORY_POOLS_ATTR
from usmp.objects.schedule import (
    Schedule,
    faster_schedules,
    schedule_of,
    with_faster_schedules,
    with_schedule,
)
from usmp.planning.options import PlanningOptions
from usmp.planning.schedules import scheduled
from usmp.planning.session import planning_session


@I.ir_module
class Module:
    """A chain of functions that let all of an input be overwritten that was read."""

    @T.prim_func
    def one(p: T.handle("int8"), q: T.handle("int8")):
        a = T.decl_buffer((60,), "int8", data=p)
        b = T.decl_buffer((60,), "int8", data=q)
        for i in range(60):
            b[i] = a[i]

    @T.prim_func
    def narrow(p: T.handle("int8"), q: T.handle("int8")):
        a = T.decl_buffer((60,), "int8", data=p)
        b = T.decl_buffer((20,), "int8", data=q)
        for i in range(20):
            b[i] = a[i]

    @T.prim_func
    def small_one(p: T.handle("int8"), q: T.handle("int8")):
        a = T.decl_buffer((20,), "int8", data=p)
        b = T.decl_buffer((20,), "int8", data=q)
        for i in range(20):
            b[i] = a[i]

    @T.prim_func
    def __tvm_main__(x: T.handle("int8"), y: T.handle("int8")):
        large_1 = T.alloc_buffer((60,), "int8")
        large_2 = T.alloc_buffer((60,), "int8")
        small_1 = T.alloc_buffer((20,), "int8")
        small_2 = T.alloc_buffer((20,), "int8")
        Module.one(x, large_1.data)
        Module.one(large_1.data, large_2.data)
        Module.narrow(large_2.data, small_1.data)
        Module.small_one(small_1.data, small_2.data)
        Module.small_one(small_2.data, y)


@I.ir_module
class WithoutBuffers:
    """A function without memory of its own, and a faster one with some."""

    @T.prim_func
    def copy(p: T.handle("int8"), q: T.handle("int8")):
        a = T.decl_buffer((60,), "int8", data=p)
        b = T.decl_buffer((60,), "int8", data=q)
        for i in range(60):
            b[i] = a[i]

    @T.prim_func
    def by_scratch(p: T.handle("int8"), q: T.handle("int8")):
        a = T.decl_buffer((60,), "int8", data=p)
        b = T.decl_buffer((60,), "int8", data=q)
        scratch = T.alloc_buffer((6,), "int8")
        for i in range(10):
            for j in range(6):
                scratch[j] = a[i * 6 + j]
            for j in range(6):
                b[i * 6 + j] = scratch[j]

    @T.prim_func
    def __tvm_main__(x: T.handle("int8"), y: T.handle("int8")):
        WithoutBuffers.copy(x, y)


def copy_of_reversed_runs(elements, run):
    """Copies the elements of each run in reverse: the output may lie over the input where it begins
    `run` - 1 bytes before it."""

    @T.prim_func
    def func(p: T.handle("int8"), q: T.handle("int8")):
        a = T.decl_buffer((elements,), "int8", data=p)
        b = T.decl_buffer((elements,), "int8", data=q)
        for i in range(elements // run):
            for j in range(run):
                b[i * run + (run - 1) - j] = a[i * run + j]

    return func


FUNCTIONS = {
    "one": Module["one"],
    "two": copy_of_reversed_runs(60, 2),
    "six": copy_of_reversed_runs(60, 6),
    "small_one": Module["small_one"],
    "small_ten": copy_of_reversed_runs(20, 10),
}
INSTRUCTIONS = {"one": 60, "two": 50, "six": 40, "small_one": 30, "small_ten": 25}
FASTER = {"one": ["six", "two"], "small_one": ["small_ten"]}


def function(name):
    return with_schedule(FUNCTIONS[name], Schedule(name, INSTRUCTIONS[name]))


def module(size_hint_bytes=None):
    """`__tvm_main__`, and what it calls with its faster schedules."""
    functions = {Module.get_global_var(n): Module[n] for n in ("__tvm_main__", "narrow")}
    for name, others in FASTER.items():
        faster = [function(other) for other in others]
        functions[Module.get_global_var(name)] = with_faster_schedules(function(name), faster)
    executor = Executor("aot", {"workspace-byte-alignment": 1})
    mod = IRModule(functions).with_attr(EXECUTOR_ATTR, executor)
    if size_hint_bytes is None:
        return mod
    properties = PoolInfoProperties(size_hint_bytes=size_hint_bytes)
    pool = WorkspacePoolInfo("ram", [Target("c")], properties)
    return mod.with_attr(WORKSPACE_MEMORY_POOLS_ATTR, WorkspaceMemoryPools([pool]))


def found(mod, optimize):
    """The peak, and the tiles of both functions."""
    with planning_session() as session:
        found = scheduled(session, mod, PlanningOptions(optimize=optimize))
    for name in FASTER:
        taken = {"one": 0, **found.chosen}.get(name, 0)
        slowest_first = [name, *reversed(FASTER[name])]
        assert schedule_of(found.mod[name]) == Schedule(
            slowest_first[taken], INSTRUCTIONS[slowest_first[taken]]
        )
    return found.peaks, [schedule_of(found.mod[name]).tile for name in FASTER]


def test_what_is_small_may_take_more_as_long_as_the_peak_stays():
    assert found(module(), "ram") == ((60,), ["one", "small_ten"])


def test_five_percent_more():
    assert found(module(), "balanced") == ((61,), ["two", "small_ten"])


def test_any_memory():
    assert found(module(), "speed") == ((65,), ["six", "small_ten"])


@pytest.mark.parametrize(("size", "tile"), [(65, "six"), (64, "two"), (61, "two"), (60, "one")])
def test_any_memory_that_the_pool_has(size, tile):
    peak = {"six": 65, "two": 61, "one": 60}[tile]
    assert found(module(size), "speed") == ((peak,), [tile, "small_ten"])


def test_no_plan_is_no_choice():
    with planning_session() as session:
        assert scheduled(session, module(59), PlanningOptions()) is None


def test_a_module_without_schedules():
    with planning_session() as session:
        assert scheduled(session, Module, PlanningOptions()) is None


def test_what_is_taken_has_the_attributes_of_what_it_stands_for():
    mod = module()
    variable = mod.get_global_var("one")
    mod.update_func(variable, mod["one"].with_attr("operator_steps", [{"kind": "copy"}]))
    with planning_session() as session:
        taken = scheduled(session, mod, PlanningOptions(optimize="speed")).mod["one"]
    assert isinstance(taken, tirx.PrimFunc)
    assert [str(step["kind"]) for step in taken.attrs["operator_steps"]] == ["copy"]
    assert faster_schedules(taken) == ()


@pytest.mark.parametrize(("optimize", "tile"), [("ram", "1"), ("balanced", "1"), ("speed", "6")])
def test_the_first_memory_of_all_is_for_speed_only(optimize, tile):
    slow = with_schedule(WithoutBuffers["copy"], Schedule("1", 2))
    fast = with_schedule(WithoutBuffers["by_scratch"], Schedule("6", 1))
    mod = IRModule(WithoutBuffers.functions)
    mod.update_func(mod.get_global_var("copy"), with_faster_schedules(slow, [fast]))
    with planning_session() as session:
        found = scheduled(session, mod, PlanningOptions(optimize=optimize))
    assert schedule_of(found.mod["copy"]).tile == tile
