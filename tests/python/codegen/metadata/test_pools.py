"""What metadata.json says of pools: their places, their buffers, and what is live at the peak."""

from __future__ import annotations

import pytest
from tvm.ir import IRModule
from tvm.script import tirx as T

from support.interface_views import constants, entry, interface, workspace
from usmp.codegen.interface.module_interface import Interface
from usmp.codegen.interface.pool_parameter import PoolParameter
from usmp.codegen.metadata.pools import io_pool, placement, pools, search
from usmp.objects import (
    AccessEstimate,
    AllocatedPoolInfo,
    BufferInfoKind,
    LiveRange,
    MemoryPlan,
    PlacedBuffer,
    PlannedOperator,
    PoolBound,
    PoolInfoProperties,
    WorkspacePoolInfo,
)
from usmp.objects.attributes.module_attributes import IO_MEMORY_POOL_ATTR, NOT_COMPARED_ATTR

EMPTY = IRModule({})


def buffer(name, pool, live, offset=0, size=16, function="main", **more):
    kind = int(more.pop("kind", BufferInfoKind.INTERMEDIATE))
    ranges = [LiveRange(*live)]
    overlaps = more.pop("overlaps", {})
    return PlacedBuffer(name, function, kind, pool, offset, size, 16, ranges, [], overlaps)


def plan(*buffers, **more):
    names = {str(b.pool_name) for b in buffers}
    bounds = {name: PoolBound(12, False) for name in names}
    return MemoryPlan("auto", 0, list(buffers), pool_bounds=bounds, **more)


def of(model, planned):
    return pools(EMPTY, model, planned)


def test_buffers_are_said_with_their_bytes_and_overlaps():
    over = buffer("b", "sram", (1, 3), offset=8, overlaps={"a": 4})
    state = buffer("s", "sram", (0, 9), offset=32, kind=BufferInfoKind.STATE)
    (said,) = of(
        interface(pools=[workspace("sram", 48)]), plan(buffer("a", "sram", (0, 2)), over, state)
    )
    assert [b["kind"] for b in said["buffers"]] == ["intermediate", "intermediate", "state"]
    assert said["buffers"][1] == {
        "name": "b",
        "kind": "intermediate",
        "function": "main",
        "offset": 8,
        "size": 16,
        "alignment": 16,
        "live_ranges": [[1, 3]],
        "identical": [],
        "overlaps": {"a": {"shared": 8, "distance": 4}},
    }
    assert said["live_at_peak"] == ["a", "b", "s"]
    assert (said["peak_bytes"], said["size_bytes"]) == (48, 48)
    assert (said["lower_bound_bytes"], said["optimal"]) == (12, False)
    assert (said["internal"], said["size_hint_bytes"]) == (False, -1)


def test_a_pool_has_its_own_buffers_only():
    model = interface(pools=[workspace("a"), workspace("b"), constants("flash")])
    planned = plan(buffer("x", "a", (0, 1)), buffer("y", "b", (0, 1)), buffer("w", "flash", (0, 1)))
    first, second, flash = of(model, planned)
    assert [b["name"] for b in first["buffers"]] == ["x"]
    assert [b["name"] for b in second["buffers"]] == ["y"]
    assert [b["kind"] for b in flash["buffers"]] == ["constant"]
    assert flash["live_at_peak"] == [] and flash["kind"] == "constant"


def test_an_empty_pool_takes_nothing_and_that_is_the_least():
    empty = PoolParameter(workspace("sram", 0).info, "sram", is_empty=True)
    (said,) = of(interface(pools=[empty]), plan())
    assert (said["peak_bytes"], said["memory_pressure_bytes"]) == (0, 0)
    assert (said["lower_bound_bytes"], said["optimal"]) == (0, True)
    assert said["buffers"] == [] and "peak_operator" not in said


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ({}, {}),
        ({"alignment": 32}, {"buffer_alignment_bytes": 32}),
        ({"pool_offset": 20}, {"pool_offset_bytes": 20, "first_byte": 32}),
        ({"address": 0}, {"address": 0}),
        ({"address": 8}, {"address": 8, "first_byte": 24}),
        ({"io": "only"}, {"io": "only"}),
        ({"io": "no"}, {"io": "no"}),
        ({"io": "any"}, {}),
    ],
)
def test_what_the_user_said_of_a_place_is_said(properties, said):
    info = WorkspacePoolInfo("sram", ["c"], PoolInfoProperties(**properties))
    model = interface(pools=[PoolParameter(AllocatedPoolInfo(info, 64, 0, 32), "sram")])
    (pool,) = of(model, plan(buffer("a", "sram", (0, 2))))
    keys = ("buffer_alignment_bytes", "pool_offset_bytes", "first_byte", "address", "io")
    assert {key: pool[key] for key in keys if key in pool} == said


def test_the_operator_at_the_peak_is_that_of_a_workspace_pool():
    operators = [PlannedOperator("main", start, start + 2, [], []) for start in (0, 2)]
    planned = plan(buffer("a", "sram", (2, 4)), buffer("w", "flash", (2, 4)), operators=operators)
    said = of(interface(pools=[workspace("sram"), constants("flash")]), planned)
    assert said[0]["peak_operator"] == 1
    assert "peak_operator" not in said[1]


def test_entries_at_the_peak_are_said_of_several_entries():
    @T.prim_func(private=True)
    def body():
        T.evaluate(0)

    names = ("a", "b")
    mod = IRModule({f"__tvm_{name}__": body for name in names})
    entries = [entry(name) for name in names]
    both = [workspace("sram", 32), constants("flash")]
    planned = plan(
        buffer("x", "sram", (0, 1), function="__tvm_a__"),
        buffer("y", "sram", (1, 2), size=32, function="__tvm_b__"),
        buffer("w", "flash", (0, 2), function="__tvm_a__"),
    )
    sram, flash = pools(mod, Interface("default", entries, both), planned)
    assert sram["entries_at_peak"] == ["b"]
    assert flash["entries_at_peak"] == []
    (alone, _) = pools(mod, interface(pools=both), planned)
    assert "entries_at_peak" not in alone


def test_the_io_pool_is_said_if_there_is_one():
    assert io_pool(EMPTY) == {}
    assert io_pool(EMPTY.with_attr("other", 1)) == {}
    pool = WorkspacePoolInfo("io", ["c"])
    assert io_pool(EMPTY.with_attr(IO_MEMORY_POOL_ATTR.name, pool)) == {"io_pool": "io"}


def test_cycles_of_accesses_are_said_if_pools_say_how_fast_they_are():
    assert placement(plan(placement="cost")) == {"policy": "cost"}
    estimate = AccessEstimate(5, None, 4, 3, 100, {"sram": 5})
    assert placement(plan(access_estimate=estimate)) == {
        "policy": "preference",
        "clock_frequency_hz": 100,
        "estimated_access_cycles": 5,
        "estimated_access_cycles_by_preference": None,
        "estimated_access_cycles_by_cost": 4,
        "estimated_access_cycles_lower_bound": 3,
        "estimated_access_cycles_by_pool": {"sram": 5},
    }


def test_what_ended_the_search_is_said_if_there_was_one():
    assert search(EMPTY, plan()) == {}
    assert search(EMPTY, plan(search_ended_by="time")) == {"search_ended_by": "time"}
    mod = EMPTY.with_attr(NOT_COMPARED_ATTR.name, ["strips"])
    assert search(mod, plan()) == {"not_compared": ["strips"]}
