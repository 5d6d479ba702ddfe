"""What metadata.json says of the memory that operators allocate themselves."""

from __future__ import annotations

from tvm.ir import IRModule
from tvm.script import tirx as T
from tvm.target import Target

from support.interface_views import constants, interface, workspace
from usmp.codegen.metadata.operator_memory import operator_memory
from usmp.objects import BufferInfoKind, LiveRange, MemoryPlan, PlacedBuffer
from usmp.objects.attributes.operator_attributes import MERGED_FUNCTIONS_ATTR
from usmp.objects.target.targets import accelerator_target

MODEL = interface(pools=[workspace("sram"), workspace("fast"), constants("flash")])


@T.prim_func(private=True)
def nothing():
    T.evaluate(0)


def buffer(function, pool, size, live):
    kind = int(BufferInfoKind.INTERMEDIATE)
    name = f"{function}_{pool}_{size}"
    return PlacedBuffer(name, function, kind, pool, 0, size, 1, [LiveRange(*live)], [])


def said(functions, *buffers):
    mod = IRModule({"__tvm_main__": nothing, **functions})
    return operator_memory(mod, MODEL, MemoryPlan("auto", 0, list(buffers)))


def test_operators_are_in_the_order_of_their_names_without_entries_and_shared_functions():
    shared = nothing.with_attr(MERGED_FUNCTIONS_ATTR.name, ["b", "a"])
    found = said({"b": nothing, "a": nothing, "c": shared})
    assert [each["function_name"] for each in found] == ["a", "b"]


def test_memory_is_the_most_that_is_live_at_once():
    buffers = [
        buffer("f", "sram", 8, (0, 2)),
        buffer("f", "sram", 4, (2, 3)),
        buffer("f", "fast", 2, (1, 3)),
        buffer("f", "flash", 16, (0, 3)),
        buffer("g", "sram", 100, (0, 3)),
    ]
    (found, _) = said({"f": nothing, "g": nothing}, *buffers)
    (memory,) = found["workspace"]
    # Constants are no workspace, and not all buffers are live at once.
    assert memory == {
        "device": 1,
        "workspace_size_bytes": 10,
        "workspace_pools": {"fast": 2, "sram": 8},
        "constant_pools": {"flash": 16},
    }
    assert list(memory["workspace_pools"]) == ["fast", "sram"]


def test_operators_without_buffers_need_nothing():
    ((found,),) = [each["workspace"] for each in said({"f": nothing})]
    assert found["workspace_size_bytes"] == 0
    assert (found["workspace_pools"], found["constant_pools"]) == ({}, {})


def test_the_device_is_that_of_the_target():
    accelerator = accelerator_target("npu")
    functions = {
        "a": nothing.with_attr("target", Target("c")),
        "b": nothing.with_attr("target", accelerator),
    }
    devices = [each["workspace"][0]["device"] for each in said(functions)]
    assert devices == [1, int(accelerator.get_target_device_type())]
