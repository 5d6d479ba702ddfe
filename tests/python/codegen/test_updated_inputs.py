"""What the header, the plan and the metadata say of inputs that runs update."""

from __future__ import annotations

import pytest
from tvm.ir.transform import PassContext

import usmp
from support.updated_models import updating_model
from usmp.objects import BufferInfoKind

FIRST = ' * It updates "cache"\n * in place; '
OWN = "no other tensor may share bytes with what it updates"
IN_WORKSPACE = "the next run finds the new values there"
OF_SEVERAL = "read the new values right after it"


def built(workspace_io=False, entries=("main",), disabled_pass=()) -> usmp.AOTExecutorFactoryModule:
    config = {"tir.usmp.use_workspace_io": workspace_io}
    with PassContext(config=config, disabled_pass=list(disabled_pass)):
        return usmp.build(updating_model(entries))


def inputs(factory) -> dict:
    memory = factory.metadata["modules"]["default"]["memory"]
    return memory["functions"]["main"][0]["inputs"]


@pytest.mark.parametrize(
    ("workspace_io", "entries", "expected"),
    [
        (False, ("main",), OWN),
        (True, ("main",), IN_WORKSPACE),
        (True, ("first", "second"), OF_SEVERAL),
    ],
)
def test_the_header_says_which_they_are(workspace_io, entries, expected):
    header = built(workspace_io, entries).header
    assert header.count("  void* cache;  /* float32[3, 4], which runs read and update */") == len(
        entries
    )
    const = "" if workspace_io else "const "
    assert f"  {const}void* x;  /* float32[3, 4] */" in header
    assert header.count(f"{FIRST}{expected}.\n" if workspace_io else FIRST + expected) == len(
        entries
    )


def test_other_inputs_are_written_before_each_run():
    assert "write all other inputs before each run" in built(workspace_io=True).header


def test_metadata_marks_them():
    described = inputs(built())
    assert described["cache"]["updated"] is True
    assert "updated" not in described["x"]


@pytest.mark.parametrize("disabled", [("OverlapInputsAndOutputs",), ()])
def test_in_the_workspace_nothing_lies_where_they_are(disabled):
    factory = built(workspace_io=True, disabled_pass=disabled)
    buffers = {str(b.name): b for b in factory.memory_plan.buffers}
    cache = buffers.pop("cache")
    assert cache.kind == BufferInfoKind.INPUT
    end = max(live.stop for b in buffers.values() for live in b.live_ranges)
    assert [(live.start, live.stop) for live in cache.live_ranges] == [(0, end)]
    assert not cache.overlaps
    stop = cache.byte_offset + cache.size_bytes
    assert all(
        b.byte_offset >= stop or b.byte_offset + b.size_bytes <= cache.byte_offset
        for b in buffers.values()
        if b.pool_name == cache.pool_name
    )


def test_it_is_computed_in_its_place():
    """The last operator reads the old value and writes the new one."""
    assert [str(buffer.name) for buffer in built().memory_plan.buffers] == []
