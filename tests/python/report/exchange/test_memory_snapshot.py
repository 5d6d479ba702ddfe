"""A plan as a memory snapshot: PyTorch's own functions read it, and so does its viewer."""

from __future__ import annotations

import json
import pickle
import pickletools

import pytest

from support.exchanged_plan import ODD, metadata
from support.lazy import lazy
from usmp.report.exchange.memory_snapshot import memory_snapshot

_memory_viz = lazy("torch.cuda._memory_viz")

SHOWN = "t\\u202e\\x1b[31m"
READ_BY_THE_VIEWER = {
    "PROTO", "FRAME", "EMPTY_DICT", "EMPTY_LIST", "MEMOIZE", "MARK", "SHORT_BINUNICODE",
    "BINUNICODE", "BINGET", "LONG_BINGET", "BININT", "BININT1", "BININT2", "LONG1", "NEWFALSE",
    "NEWTRUE", "NONE", "APPEND", "APPENDS", "SETITEM", "SETITEMS", "STOP",
}  # fmt: skip
"""Opcodes of pickle that `torch/utils/viz/MemoryViz.js` knows."""


@pytest.fixture
def snapshot():
    return pickle.loads(memory_snapshot(metadata()))


def test_the_viewer_reads_every_opcode():
    content = memory_snapshot(metadata())
    assert {opcode.name for opcode, _, _ in pickletools.genops(content)} <= READ_BY_THE_VIEWER
    (protocol,) = (a for opcode, a, _ in pickletools.genops(content) if opcode.name == "PROTO")
    assert 2 <= protocol <= 4


@pytest.mark.slow
def test_torch_reads_it(snapshot, tmp_path):
    trace = _memory_viz.trace(snapshot)
    assert "a = cudaMalloc(1048576, 216.0B)\nb = cudaMalloc(2097152, 300.0B)\n" in trace
    assert "[128:64.0B]" in trace and "[0:128.0B]" in trace
    summary = _memory_viz.segsum(snapshot)  # which checks that the sizes of blocks add up
    assert "total_reserved: 516.0B\ntotal_allocated: 310.0B\n" in summary
    for plot in (_memory_viz.trace_plot, _memory_viz.segment_plot):
        assert "snapshot.pickle" in plot(snapshot)
    lines: list[str] = []
    _memory_viz.memory(snapshot, format_flamegraph=lines.append)
    assert "stream_0;active_allocated;conv" not in lines[0]
    assert "__tvm_main__:0:constant weights 300\n" in lines[0]


def test_events_are_the_live_ranges(snapshot):
    base, end = (segment["address"] for segment in snapshot["segments"])
    (trace,) = snapshot["device_traces"]
    events = [
        (event["time_us"], event["action"], event["addr"] - base, event["size"])
        for event in trace
        if base <= event["addr"] < end and event["action"] in ("alloc", "free_completed")
    ]
    assert events == [
        (0, "alloc", 192, 8),
        (0, "alloc", 128, 64),
        (0, "alloc", 0, 128),
        (1, "free_completed", 192, 8),
        (1, "alloc", 200, 16),
        (2, "free_completed", 128, 64),
        (2, "free_completed", 0, 128),
        (2, "free_completed", 200, 16),
        (2, "alloc", 0, 128),
        (4, "alloc", 128, 10),
        (5, "alloc", 192, 8),
        (6, "free_completed", 0, 128),
        (6, "free_completed", 192, 8),
    ]


def test_a_free_is_requested_right_before_it_is_completed(snapshot):
    (trace,) = snapshot["device_traces"]
    actions = [(event["action"], event["addr"]) for event in trace]
    completed = [n for n, (action, _) in enumerate(actions) if action == "free_completed"]
    assert len(completed) == 6
    for number in completed:
        assert actions[number - 1] == ("free_requested", actions[number][1])


def test_frames_name_the_buffer_and_who_runs(snapshot):
    (trace,) = snapshot["device_traces"]
    (taken,) = (e for e in trace if e["action"] == "alloc" and e["time_us"] == 2)
    assert taken["frames"] == [
        {"name": "intermediate u", "filename": "__tvm_main__", "line": 0},
        {"name": "relu", "filename": "entry net", "line": 1},
        {"name": "RELU u", "filename": "model", "line": 1},
    ]
    names = {frame["name"] for event in trace for frame in event["frames"]}
    assert f"intermediate {SHOWN}" in names and not any(ODD in name for name in names)


def test_kinds_are_categories_and_one_is_that_which_the_viewer_needs(snapshot):
    (trace,) = snapshot["device_traces"]
    assert {e["category"] for e in trace if e["action"] == "alloc"} == {
        "constant", "input", "intermediate", "output"
    }  # fmt: skip
    assert {e["category"] for e in trace if e["action"] == "segment_alloc"} == {"unknown"}


def test_equal_plans_give_equal_bytes():
    """Whether equal texts are one object or several."""
    module = metadata()
    module["model_operators"][0]["type"] = "".join(["CONV", "_2D"])
    module["operators"][1]["functions"] = ["".join(["re", "lu"])]
    assert memory_snapshot(module) == memory_snapshot(json.loads(json.dumps(metadata())))
