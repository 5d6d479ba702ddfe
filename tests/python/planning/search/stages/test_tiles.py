"""Which schedules are taken, by what they save and what memory they need; and each goal's bytes."""

from __future__ import annotations

import pytest
from tvm import tirx
from tvm.ir import IRModule
from tvm.target import Target

from support.deadlines import OVER, after_looks
from support.streamed_graphs import main_function, module, operator
from usmp.objects import Executor, PoolInfoProperties, WorkspaceMemoryPools, WorkspacePoolInfo
from usmp.objects.attributes.compared import details_of
from usmp.objects.attributes.module_attributes import EXECUTOR_ATTR, WORKSPACE_MEMORY_POOLS_ATTR
from usmp.objects.attributes.operator_attributes import SEGMENT_ATTR
from usmp.objects.schedule import (
    SCHEDULE_ATTR,
    Schedule,
    faster_schedules,
    with_faster_schedules,
)
from usmp.planning.options import PlanningOptions
from usmp.planning.search import Search, Searched
from usmp.planning.search.stages import TileStage
from usmp.planning.session import planning_session


def copy(name, elements, of=None):
    """Copies elements, of which all of an input may be overwritten that was read."""
    body = f"""
    for i in range({elements}):
        Q[i] = P[i]
    """
    return operator(name, [("p", of or elements, "int8"), ("q", elements, "int8")], body)


def copy_of_reversed_runs(elements, run):
    """Copies the elements of each run in reverse: the output may lie over the input where it begins
    `run` - 1 bytes before it."""
    body = f"""
    for i in range({elements // run}):
        for j in range({run}):
            Q[i * {run} + {run - 1} - j] = P[i * {run} + j]
    """
    return operator("copy", [("p", elements, "int8"), ("q", elements, "int8")], body)


MAIN_PARAMS = [("x", "int8"), ("y", "int8")]
TENSORS = [
    *(("large_1", 60, "int8"), ("large_2", 60, "int8")),
    *(("small_1", 20, "int8"), ("small_2", 20, "int8")),
]
Module = module(
    copy("one", 60),
    copy("narrow", 20, of=60),
    copy("small_one", 20),
    main_function(
        MAIN_PARAMS,
        TENSORS,
        [
            "one x large_1",
            "one large_1 large_2",
            "narrow large_2 small_1",
            "small_one small_1 small_2",
            "small_one small_2 y",
        ],
    ),
)
WithoutBuffers = module(
    copy("copy", 60),
    operator(
        "by_scratch",
        [("p", 60, "int8"), ("q", 60, "int8")],
        """
        scratch = T.alloc_buffer((6,), "int8")
        for i in range(10):
            for j in range(6):
                scratch[j] = P[i * 6 + j]
            for j in range(6):
                Q[i * 6 + j] = scratch[j]
        """,
    ),
    main_function(MAIN_PARAMS, [], ["copy x y"]),
)
"""A function without memory of its own, and a faster one with some."""


FUNCTIONS = {
    "one": Module["one"],
    "two": module(copy_of_reversed_runs(60, 2))["copy"],
    "six": module(copy_of_reversed_runs(60, 6))["copy"],
    "small_one": Module["small_one"],
    "small_ten": module(copy_of_reversed_runs(20, 10))["copy"],
}
INSTRUCTIONS = {"one": 60, "two": 50, "six": 40, "small_one": 30, "small_ten": 25}
FASTER = {"one": ["six", "two"], "small_one": ["small_ten"]}


def function(name):
    return SCHEDULE_ATTR.put(FUNCTIONS[name], Schedule(name, INSTRUCTIONS[name]))


def scheduled_module(size_hint_bytes=None):
    """`__tvm_main__`, and what it calls with its faster schedules."""
    functions = {Module.get_global_var(n): Module[n] for n in ("__tvm_main__", "narrow")}
    for name, others in FASTER.items():
        faster = [function(other) for other in others]
        functions[Module.get_global_var(name)] = with_faster_schedules(function(name), faster)
    executor = Executor("aot", {"workspace-byte-alignment": 1})
    mod = IRModule(functions).with_attr(EXECUTOR_ATTR.name, executor)
    if size_hint_bytes is None:
        return mod
    properties = PoolInfoProperties(size_hint_bytes=size_hint_bytes)
    pool = WorkspacePoolInfo("ram", [Target("c")], properties)
    return mod.with_attr(WORKSPACE_MEMORY_POOLS_ATTR.name, WorkspaceMemoryPools([pool]))


def searched(mod, deadline=None, **options) -> Searched:
    with planning_session(deadline) as session:
        return Search(session, PlanningOptions(**options), [TileStage()]).best(mod)


def found(mod, optimize):
    """The peak, and the tiles of both functions."""
    found = searched(mod, optimize=optimize)
    (race,) = found.races
    chosen = dict(race.taken.value)
    for name in FASTER:
        taken = {"one": 0, **chosen}.get(name, 0)
        slowest_first = [name, *reversed(FASTER[name])]
        assert SCHEDULE_ATTR.of(found.mod[name]) == Schedule(
            slowest_first[taken], INSTRUCTIONS[slowest_first[taken]]
        )
    return race.best.peaks, [SCHEDULE_ATTR.of(found.mod[name]).tile for name in FASTER]


def test_what_is_small_may_take_more_as_long_as_the_peak_stays():
    assert found(scheduled_module(), "ram") == ((60,), ["one", "small_ten"])


def test_five_percent_more():
    assert found(scheduled_module(), "balanced") == ((61,), ["two", "small_ten"])


def test_any_memory():
    assert found(scheduled_module(), "speed") == ((65,), ["six", "small_ten"])


@pytest.mark.parametrize(("size", "tile"), [(65, "six"), (64, "two"), (61, "two"), (60, "one")])
def test_any_memory_that_the_pool_has(size, tile):
    peak = {"six": 65, "two": 61, "one": 60}[tile]
    assert found(scheduled_module(size), "speed") == ((peak,), [tile, "small_ten"])


@pytest.mark.parametrize("mod", [scheduled_module(59), Module], ids=["no plan", "no schedules"])
def test_without_a_choice_the_module_stays(mod):
    assert searched(mod).mod.same_as(mod)


def test_without_time_the_module_stays():
    mod = scheduled_module()
    assert searched(mod, OVER).mod.same_as(mod)


def test_what_is_taken_has_the_attributes_of_what_it_stands_for():
    mod = scheduled_module()
    variable = mod.get_global_var("one")
    mod.update_func(variable, mod["one"].with_attr("operator_steps", [{"kind": "copy"}]))
    taken = searched(mod, optimize="speed").mod["one"]
    assert isinstance(taken, tirx.PrimFunc)
    assert [str(step["kind"]) for step in taken.attrs["operator_steps"]] == ["copy"]
    assert faster_schedules(taken) == ()


@pytest.mark.parametrize(("optimize", "tile"), [("ram", "1"), ("balanced", "1"), ("speed", "6")])
def test_the_first_memory_of_all_is_for_speed_only(optimize, tile):
    slow = SCHEDULE_ATTR.put(WithoutBuffers["copy"], Schedule("1", 2))
    fast = SCHEDULE_ATTR.put(WithoutBuffers["by_scratch"], Schedule("6", 1))
    mod = IRModule(WithoutBuffers.functions)
    mod.update_func(mod.get_global_var("copy"), with_faster_schedules(slow, [fast]))
    assert SCHEDULE_ATTR.of(searched(mod, optimize=optimize).mod["copy"]).tile == tile


ALL_GOALS = {"ram": (60, 170), "balanced": (61, 150), "speed": (65, 130)}


def goals(mod, **options):
    (said,) = details_of(searched(mod, **options).mod, "tiles")
    return {
        str(goal): each if isinstance(each, str) else (each["peak_bytes"], each["instructions"])
        for goal, each in said.items()
    }


@pytest.mark.parametrize("optimize", ["ram", "balanced", "speed"])
def test_the_module_says_what_each_goal_takes(optimize):
    assert goals(scheduled_module(), optimize=optimize) == {"optimize": optimize, **ALL_GOALS}


def test_placement_by_cost_plans_for_one_goal():
    mod = scheduled_module()
    properties = PoolInfoProperties(
        read_bandwidth_bytes_per_cycle=1, write_bandwidth_bytes_per_cycle=1
    )
    pool = WorkspacePoolInfo("ram", [Target("c")], properties)
    mod = mod.with_attr(WORKSPACE_MEMORY_POOLS_ATTR.name, WorkspaceMemoryPools([pool]))
    said = goals(mod, optimize="balanced", placement="cost")
    assert said == {"optimize": "balanced", "balanced": ALL_GOALS["balanced"]}


def test_nothing_is_streamed_for_speed_alone():
    mod = scheduled_module()
    mod.update_func(mod.get_global_var("narrow"), mod["narrow"].with_attr(SEGMENT_ATTR.name, 1))
    assert goals(mod).keys() == {"optimize", "ram", "balanced"}
    assert goals(mod, optimize="speed") == {"optimize": "speed", **ALL_GOALS}


def test_a_goal_whose_search_ran_out_of_time_is_left_out():
    whole = len(goals(scheduled_module()))
    found = set()
    for looks in range(3, 40):
        said = details_of(searched(scheduled_module(), after_looks(looks)).mod, "tiles")
        found.add(len(said[0]) if said else 0)
    assert found == set(range(2, whole + 1)) or found == {0, *range(2, whole + 1)}
