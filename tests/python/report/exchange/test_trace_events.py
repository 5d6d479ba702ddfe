"""A plan as trace events: the structure that Perfetto reads."""

from __future__ import annotations

import json
from itertools import pairwise

from support.exchanged_plan import metadata
from usmp.report.exchange.trace_events import trace_events

EVENTS = json.loads(trace_events(metadata()))["traceEvents"]


def of_process(name: str) -> list[dict]:
    (process,) = (
        event["pid"]
        for event in EVENTS
        if event["name"] == "process_name" and event["args"]["name"].startswith(name)
    )
    assert process > 0
    return [event for event in EVENTS if event["pid"] == process]


def slices(events: list[dict]) -> list[tuple]:
    return [(e["name"], e["ts"], e["ts"] + e["dur"]) for e in events if e["ph"] == "X"]


def test_every_event_has_what_its_phase_needs():
    needed = {
        "M": {"name", "pid", "args"},
        "X": {"name", "cat", "pid", "tid", "ts", "dur", "args"},
        "C": {"name", "pid", "ts", "args"},
    }
    for event in EVENTS:
        assert needed[event["ph"]] <= set(event)
        numbers = [event[name] for name in ("ts", "dur") if name in event]
        assert all(type(number) is int and number >= 0 for number in numbers)
        assert event.get("dur", 1) > 0


def test_the_counter_of_a_pool_has_the_bytes_that_are_live():
    counter = [e for e in of_process("sram (workspace, peak 216 bytes)") if e["ph"] == "C"]
    assert {event["name"] for event in counter} == {"live bytes"}
    assert [(event["ts"], event["args"]["bytes"]) for event in counter] == [
        (0, 200), (1, 208), (2, 256), (4, 138), (5, 146), (6, 10), (9, 0)
    ]  # fmt: skip
    assert [
        (event["ts"], event["args"]["bytes"])
        for event in of_process("flash (constant")
        if event["ph"] == "C"
    ] == [(0, 300), (9, 0)]


def test_a_slice_is_a_live_range_of_a_buffer():
    events = of_process("sram")
    assert sorted(slices(events)) == [
        ("again", 0, 1),
        ("again", 5, 6),
        ("scratch", 1, 2),
        ("t\\u202e\\x1b[31m", 0, 4),
        ("u", 2, 6),
        ("x", 0, 2),
        ("y", 4, 9),
    ]
    (taken,) = (event for event in events if event["name"] == "u")
    assert taken["cat"] == "intermediate"
    assert taken["args"] == {
        "bytes": 128,
        "offset": 0,
        "end": 128,
        "live range": "2-6",
        "function": "__tvm_main__",
        "shares bytes with": {"t\\u202e\\x1b[31m": 128},
    }


def test_slices_of_a_row_are_never_live_together_and_rows_have_names():
    events = of_process("sram")
    rows = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name" and e["tid"]}
    assert rows == {1: "buffers 1", 2: "buffers 2", 3: "buffers 3"}
    for row in rows:
        spans = sorted(
            (e["ts"], e["ts"] + e["dur"]) for e in events if e.get("tid") == row and e["ph"] == "X"
        )
        assert all(stop <= start for (_, stop), (start, _) in pairwise(spans))


def test_operators_are_slices_of_their_entry():
    events = of_process("operators of net")
    assert slices(events) == [("conv", 0, 2), ("relu", 2, 4), ("pool_dense", 4, 9)]
    arguments = [event["args"] for event in events if event["ph"] == "X"]
    assert arguments[0] == {
        "positions": "0-2",
        "live bytes of sram": 208,
        "live bytes of flash": 300,
        "multiply-accumulates": 576,
        "instructions": 900,
        "buffers": ["x", "t\\u202e\\x1b[31m", "scratch"],
        "model operators": ["0 CONV_2D t"],
    }
    assert arguments[2]["model operators"] == ["2 Pool v", "5 DENSE y"]
    threads = [e["args"]["name"] for e in events if e["name"] == "thread_name" and e["tid"]]
    assert threads == ["net"]


def test_without_positions_there_are_the_pools_only():
    module = metadata()
    for operator in module["operators"]:
        del operator["start"], operator["stop"]
    events = json.loads(trace_events(module))["traceEvents"]
    names = [event["args"]["name"] for event in events if event["name"] == "process_name"]
    assert [name.split()[0] for name in names] == ["sram", "flash"]
