"""What metadata.json says of the runs of entries: their memory, their tensors, what they share."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tvm import tirx
from tvm.ir import IRModule

from support.interface_views import constants, entry, placed, tensor, workspace
from usmp.codegen.interface.entry_facts import UsedState
from usmp.codegen.interface.module_interface import Interface
from usmp.codegen.metadata.entries import entry_memory, ram
from usmp.objects import BufferInfoKind, LiveRange, MemoryPlan, PlacedBuffer
from usmp.objects.attributes.compared import Alternative, Compared, with_compared
from usmp.plain.entry_size import EntrySize

POOLS = [workspace("sram", 64), workspace("fast", 8), constants("flash", size_bytes=24)]
STATE = PlacedBuffer("s", "f", int(BufferInfoKind.STATE), "sram", 0, 12, 4, [LiveRange(0, 9)], [])
PLAN = MemoryPlan("auto", 0, [STATE], entry_ranges={"a": LiveRange(1, 3), "b": LiveRange(3, 9)})


def said(one, others=(), states=(STATE,)):
    model = Interface("default", [one, *others], POOLS, list(states))
    return entry_memory(model, one, PLAN)


def tensor_of(one):
    return said(entry("main", [one], pools=POOLS))["inputs"]["x"]


def test_memory_is_that_of_its_pools():
    found = said(entry("main", [tensor("x", (3,))], [tensor("y", (2,), "int32")], POOLS))
    assert found["entry"] == "main" and found["device"] == 1
    assert found["workspace_pools"] == {"sram": 64, "fast": 8}
    assert found["workspace_size_bytes"] == 72
    assert (found["constant_pools"], found["constants_size_bytes"]) == ({"flash": 24}, 24)
    assert found["io_size_bytes"] == 11 and found["state_size_bytes"] == 12
    assert list(found["outputs"]) == ["y"]
    assert not {"takes_arena", "positions", "sizes", "concurrent_with"} & set(found)


def test_an_output_is_written_without_saying_so():
    output = replace(tensor("x"), is_written=True)
    assert "written" not in said(entry("main", [tensor("x")], [output], POOLS))["outputs"]["x"]


def test_an_arena_is_said_if_it_is_taken():
    assert said(entry("main", takes_arena=True))["takes_arena"] is True


def test_what_several_entries_share_is_said():
    states = [UsedState("s", 8, True), UsedState("t", 3, False)]
    one = entry("a", [], [], POOLS, states=states, concurrent_with=["b"])
    found = said(one, [entry("b", [], [], POOLS)])
    assert found["positions"] == [1, 3] and found["concurrent_with"] == ["b"]
    assert found["peak_bytes"] == {"sram": 12, "fast": 0}
    assert found["states"] == {
        "s": {"size": 8, "changed": True},
        "t": {"size": 3, "changed": False},
    }
    # Of one of several, the states that it uses.
    assert found["state_size_bytes"] == 11


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (tensor("x"), {}),
        (tensor("x", is_updated=True), {"updated": True}),
        (replace(tensor("x"), is_written=True), {"written": True}),
        (
            tensor("x", scale=0.5, zero_point=0),
            {"quantization": {"scale": 0.5, "zero_point": 0}},
        ),
        (tensor("x", scale=0.5), {}),
        (placed("x"), {"pool": "sram", "offset": 0}),
        (tensor("x", is_by_rows=True), {"by_rows": {"rows": 4, "row_size": 1}}),
    ],
)
def test_tensors_are_said_with_what_is_special_of_them(one, expected):
    plain = {"size": 4, "dtype": "int8", "shape": [1, 4], "c_name": "x"}
    assert tensor_of(one) == {**plain, **expected}


def test_tensors_by_rows_have_no_memory():
    inputs = [tensor("x", (1, 9), is_by_rows=True), tensor("y", (1, 3))]
    outputs = [placed("z"), tensor("t", is_by_rows=True)]
    assert said(entry("main", inputs, outputs, POOLS))["io_size_bytes"] == 3 + 4


def test_a_tensor_without_a_largest_size_has_no_bytes():
    shape = [tirx.Var("n", "int64")]
    own = tensor("x", (2,), symbolic_shape=shape)
    for upper, size, io_bytes in ((None, None, 4), (2, 2, 6)):
        sizes = [EntrySize("n", "n", 2, upper)]
        found = said(entry("main", [own], [tensor("y")], POOLS, sizes=sizes))
        assert found["inputs"]["x"]["size"] == size
        assert found["inputs"]["x"]["symbolic_shape"] == ["n"]
        assert found["io_size_bytes"] == io_bytes


def test_ram_is_that_of_entries_that_may_run_at_once():
    entries = [entry("a", [tensor("x", (10,))]), entry("b", [tensor("x", (4,))])]
    alone = ram(IRModule({}), Interface("default", entries, POOLS, [STATE]))
    assert alone == {
        "size_bytes": 82,
        "workspace_size_bytes": 72,
        "io_size_bytes": 10,
        "state_size_bytes": 12,
    }
    entries[0] = entry("a", [tensor("x", (10,))], concurrent_with=["b"])
    asked = Compared("workspace_io", "no", None, (Alternative("yes", "not asked", 99),))
    mod = with_compared(IRModule({}), [asked])
    at_once = ram(mod, Interface("default", entries, POOLS))
    assert (at_once["io_size_bytes"], at_once["size_bytes"]) == (14, 86)
    assert at_once["size_bytes_with_workspace_io"] == 99
    assert "size_bytes_with_workspace_io" not in alone
