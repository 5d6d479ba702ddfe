"""Memory that PyTorch recorded: live ranges of its blocks, and the bytes that would be enough."""

from __future__ import annotations

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from usmp_solver import parse_buffers, parse_pytorch, read_pytorch, solve, write_csv

BASE = 0x7F0000000000


def event(action: str, slot: int = 0, size: int = 512, **more) -> dict:
    return {"action": action, "addr": BASE + slot, "size": size, "stream": 0, "frames": []} | more


def snapshot(*events: dict, segments=(), **more) -> dict:
    return {"segments": list(segments), "device_traces": [list(events)], **more}


def segment(*blocks: tuple[str, int, int], address: int = BASE, **more) -> dict:
    """A segment of blocks: state, bytes, requested bytes."""
    at = [{"state": state, "size": size, "requested_size": asked} for state, size, asked in blocks]
    whole = {"address": address, "total_size": sum(block[1] for block in blocks), "stream": 0}
    return {"device": 0, **whole, "blocks": at} | more


def lives(data: dict, **options) -> dict[str, tuple]:
    """Of every buffer: pool, bytes, live range."""
    problem = parse_pytorch("s.pickle", pickle.dumps(data), **options).problem
    pools = [problem.pools[pool].name for pool in problem.candidates]
    columns = (problem.sizes, problem.live_starts, problem.live_stops)
    rows = zip(pools, *(column.tolist() for column in columns), strict=True)
    return dict(zip(problem.names, rows, strict=True))


def test_blocks_live_from_their_allocation_until_they_may_be_used_again():
    data = snapshot(
        event("segment_alloc", size=2 << 20),
        event("alloc", 0, 1000),
        event("alloc", 1024, 512),
        event("free_requested", 0, 1000),
        event("snapshot", 0, 0),
        event("free_completed", 0, 1000),
        event("alloc", 0, 1),
    )
    assert lives(data) == {
        "alloc1": ("device0", 1024, 1, 5),
        "alloc2": ("device0", 512, 2, 8),
        "alloc6": ("device0", 512, 6, 8),
    }
    assert lives(data, unit=1)["alloc1"] == ("device0", 1000, 1, 5)


def test_what_was_there_before_the_recording_lives_from_the_beginning():
    data = snapshot(
        event("alloc", 0),
        event("free_requested", 4096, 700),
        event("free_completed", 4096, 700),
        segments=[
            segment(
                ("active_allocated", 512, 512),
                ("inactive", 1024, 0),
                ("active_awaiting_free", 1024, 600),
            )
        ],
    )
    assert lives(data) == {
        "alloc0": ("device0", 512, 0, 4),
        "freed2": ("device0", 1024, 0, 2),
        "held0": ("device0", 1024, 0, 4),
    }


def test_where_events_are_missing_a_block_is_live_as_long_as_it_may_have_been():
    data = snapshot(
        event("alloc", 0),
        event("alloc", 0, 1024),
        event("free_completed", 0, 1024),
        event("oom", 0, 1 << 40, device_free=7),
        event("free_completed", 0, 100),
    )
    assert lives(data) == {
        "alloc0": ("device0", 512, 0, 1),
        "alloc1": ("device0", 1024, 1, 2),
        "freed4": ("device0", 512, 2, 4),
    }


def test_devices_streams_and_memory_pools_are_planned_apart():
    data = {
        "segments": [],
        "device_traces": [
            [event("alloc", 0, stream=7), event("alloc", 512, pool_id=(0, 3))],
            [],
            [event("alloc", 0, pool_id=(0, 0))],
        ],
    }
    assert lives(data) == {
        "device0.alloc0": ("device0.stream7", 512, 0, 3),
        "device0.alloc1": ("device0.pool0-3", 512, 1, 3),
        "device2.alloc0": ("device2", 512, 0, 2),
    }
    table = parse_pytorch("s.pickle", pickle.dumps(data), {"device2": 1024})
    assert [(pool.name, pool.limit) for pool in table.problem.pools] == [
        ("device0.pool0-3", None),
        ("device0.stream7", None),
        ("device2", 1024),
    ]
    assert table.where(1) == "event 1 of device0"
    with pytest.raises(ValueError, match=r'^s.pickle: no memory is in the pool "sram" that '):
        parse_pytorch("s.pickle", pickle.dumps(data), {"sram": 1})
    with pytest.raises(ValueError, match=r"^s.pickle: the capacity 64 names no pool, and the file"):
        parse_pytorch("s.pickle", pickle.dumps(data), 64)


def fragmented() -> dict:
    """A trace in which the caching allocator has a hole that is too small."""
    mib = 1 << 20
    events = [
        event("segment_alloc", 0, 20 * mib),
        event("alloc", 0, 8 * mib),
        event("alloc", 8 * mib, 12 * mib),
        event("free_requested", 0, 8 * mib),
        event("free_completed", 0, 8 * mib),
        event("segment_alloc", 64 * mib, 20 * mib),
        event("alloc", 64 * mib, 10 * mib),
        event("free_requested", 8 * mib, 12 * mib),
        event("free_completed", 8 * mib, 12 * mib),
        event("segment_free", 0, 20 * mib),
    ]
    blocks = [("active_allocated", 10 * mib, 10 * mib), ("inactive", 10 * mib, 0)]
    return snapshot(*events, segments=[segment(*blocks, address=BASE + 64 * mib)])


def test_bytes_of_the_plan_beside_those_of_the_recording(tmp_path):
    (tmp_path / "s.pickle").write_bytes(pickle.dumps(fragmented()))
    table = read_pytorch(tmp_path / "s.pickle")
    (device,) = table.devices
    assert device.name == "device0"
    assert (device.live_bytes, device.reserved_bytes) == (22 << 20, 40 << 20)
    solution = solve(table.problem)
    assert solution.is_optimal and solution.peak == 22 << 20
    assert write_csv(table, solution).splitlines() == [
        "id,lower,upper,size,alignment,offset",
        *(
            f"{name},{start},{stop},{size},512,{solution.places[name][1]}"
            for name, (_, size, start, stop) in lives(fragmented()).items()
        ),
    ]


def test_reserved_bytes_where_the_recording_begins_late():
    held = segment(("active_allocated", 4096, 4096))
    data = snapshot(event("segment_free", 8192, 1024), segments=[held])
    (device,) = parse_pytorch("s.pickle", pickle.dumps(data)).devices
    assert device.reserved_bytes == 4096 + 1024


def test_json_says_the_same_as_a_pickle():
    data = snapshot(event("alloc", 0, pool_id=(0, 1)), event("alloc", 512))
    pickled, text = pickle.dumps(data), json.dumps(data).encode()
    one, other = (parse_buffers("s", each).problem for each in (pickled, text))
    assert one.names == other.names and one.pools == other.pools


@pytest.mark.slow
def test_a_profile_of_a_cpu(tmp_path):
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 64))
    image = torch.randn(32, 64)
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, profile_memory=True) as profile:
        model(image)
    path = tmp_path / "profile.json"
    profile.export_chrome_trace(str(path))
    table = read_pytorch(path)
    (device,) = table.devices
    events = json.loads(path.read_text())["traceEvents"]
    totals = [each["args"]["Total Allocated"] for each in events if each["name"] == "[memory]"]
    assert (device.name, device.live_bytes) == ("cpu", max(totals))
    solution = solve(table.problem)
    assert solution.is_optimal and device.live_bytes <= solution.peak < 1.1 * device.live_bytes


def memory(address: int, count: int, time: float, **args) -> dict:
    details = {"Addr": address, "Bytes": count, "Device Type": 1, "Device Id": 0} | args
    return {"ph": "i", "name": "[memory]", "ts": time, "args": details}


def test_a_profile_is_in_the_order_of_its_times():
    events = [
        {"ph": "X", "name": "aten::add", "ts": 0},
        memory(64, -100, 3.5, **{"Total Reserved": 0}),
        memory(64, 100, 1.5, **{"Total Reserved": 2048}),
        memory(128, 8, 1.5, **{"Ev Idx": 9}),
        memory(0, 4, 9, **{"Device Type": 0, "Device Id": -1}),
    ]
    table = parse_pytorch("p.json", json.dumps({"traceEvents": events}).encode())
    assert table.problem.names == ["cpu.alloc0", "cuda0.alloc0", "cuda0.alloc1"]
    assert table.problem.sizes.tolist() == [64, 128, 64]
    assert table.problem.live_stops.tolist() == [2, 2, 4]
    assert [device.reserved_bytes for device in table.devices] == [None, 2048]


BAD = [
    (b"\x1f\x8b\x08", ": the file is compressed; unpack it with gunzip first"),
    (b"\x80\x04cos\nsystem\n", ": byte 2 of the pickle: the opcode GLOBAL is not read: "),
    (b"\x80\x04].", ": the snapshot is no dict, but a list"),
    (b"{", ", line 1: this is no JSON: "),
    (b'{"a": ' + b"1" * 5000 + b"}", ": a number of this JSON has thousands of digits"),
    (b"[" * 10**6, ": lists of this JSON are too deep in each other"),
    (b"\xff\xff", ": the file is neither a pickle of protocol 2 to 5 nor JSON, which is text: "),
    ({}, ': the file has neither "device_traces", as snapshots of torch.cuda.memory have, nor '),
    ({"device_traces": 3}, ': the file must have a list as "device_traces", not 3'),
    ({"device_traces": [3]}, ': the file must have lists in "device_traces", but number 0 is none'),
    ({"device_traces": [[]]}, ": no memory is allocated in this recording; nothing is to plan"),
    (snapshot(3), ": event 0 of device0 is no dict, but 3"),
    (snapshot({}), ': event 0 of device0 must have text as "action", not nothing'),
    (
        snapshot(event("alloc", size=-1)),
        ': event 0 of device0 must have a whole number from 0 to 281474976710655 as "size", not -1',
    ),
    (
        snapshot(event("alloc", size=True)),
        ': event 0 of device0 must have a whole number from 0 to 281474976710655 as "size", '
        "not True",
    ),
    (
        snapshot(event("alloc", pool_id=[0, "x"])),
        ': "pool_id" of event 0 of device0 must have a whole number from 0 to '
        '18446744073709551615 as "1", not "x"',
    ),
    (
        snapshot(segments=[{"device": 0, "address": 0, "blocks": [{"size": 4}]}]),
        ': block 0 of segment 0 must have text as "state", not nothing',
    ),
    (
        {"traceEvents": [{"name": "aten::add"}]},
        ': the file has no event "[memory]"; make the profile with torch.profiler.profile(',
    ),
    (
        {"traceEvents": [memory(0, 4, float("nan"))]},
        ': event 0 must have a finite number as "ts", not nan',
    ),
    ({"traceEvents": [{"name": "[memory]"}]}, ': "args" of event 0 is no dict, but nothing'),
]


@pytest.mark.parametrize(("data", "message"), BAD)
def test_what_is_wrong_is_named(data, message):
    content = data if isinstance(data, bytes) else json.dumps(data).encode()
    with pytest.raises(ValueError) as caught:
        parse_pytorch("in.json", content)
    assert str(caught.value).startswith(f"in.json{message}")


def test_a_small_file_of_very_many_events_is_refused():
    trace = [event("alloc")] * 1000
    data = pickle.dumps({"segments": [], "device_traces": [trace] * 30_000})
    assert len(data) < 100_000
    with pytest.raises(ValueError, match=r"has 30000000 events and blocks; at most 20000000 are "):
        parse_pytorch("s.pickle", data)


BLOCKS = [{"size": 4, "state": "inactive", "address": 0}] * 2000


@pytest.mark.parametrize(
    ("recording", "count"),
    [
        ({"device_traces": [[event("alloc", number) for number in range(200)]] * 200}, 40_000),
        ({"device_traces": [], "segments": [segment(blocks=BLOCKS)] * 20}, 40_020),
        ({"device_traces": [], "segments": [segment()] * 2000}, 2000),
        ({"traceEvents": [memory(0, 4, 0)] * 2000}, 2000),
    ],
    ids=["traces", "blocks", "segments", "profile"],
)
def test_events_are_counted_against_the_bytes_of_the_file(recording, count):
    """A pickle has a list once, and names it in many places."""
    data = pickle.dumps(recording)
    message = (
        f"s.pickle: the (snapshot|file) repeats its lists: it has {count} events and blocks, and a "
        f"file of {len(data)} bytes has space for {len(data) // 8}; write each event once"
    )
    with pytest.raises(ValueError, match=message):
        parse_pytorch("s.pickle", data)


def test_a_memory_pool_has_two_numbers():
    """Each event that names the pool would have the text of all of them."""
    traces = [[event("alloc", number, pool_id=[0, 0, 1]) for number in range(9)]]
    with pytest.raises(ValueError, match=r'event 0 of device0 has 3 numbers as "pool_id"; at most'):
        parse_pytorch("s.pickle", pickle.dumps({"segments": [], "device_traces": traces}))


NUMBER = st.integers(-1, 3) | st.just(1 << 70)
ODD = st.one_of(st.none(), NUMBER, st.text(max_size=2), st.floats(), st.just([]))
ACTION = st.sampled_from(["alloc", "free_requested", "free_completed", "segment_free", "oom", "?"])


def mostly(good):
    return st.one_of(good, good, good, good, ODD)


FIELDS = {
    **dict.fromkeys(("action",), mostly(ACTION)),
    **dict.fromkeys(("addr", "size", "stream", "address", "total_size"), mostly(NUMBER)),
    "pool_id": mostly(st.lists(NUMBER, max_size=2)),
    "blocks": mostly(
        st.lists(
            mostly(
                st.fixed_dictionaries(
                    {"state": mostly(st.just("active_allocated")), "size": mostly(NUMBER)}
                )
            ),
            max_size=2,
        )
    ),
    "name": st.just("[memory]"),
    "ts": mostly(st.floats()),
    "args": mostly(
        st.fixed_dictionaries(
            {
                name: mostly(st.integers(-2, 2))
                for name in ("Addr", "Bytes", "Device Type", "Device Id", "Total Reserved")
            }
        )
    ),
}
RECORDS = mostly(st.lists(mostly(st.fixed_dictionaries(FIELDS)), max_size=5))


@pytest.mark.slow
@given(
    st.fixed_dictionaries({"device_traces": mostly(st.lists(RECORDS, max_size=2))})
    | st.fixed_dictionaries({"traceEvents": RECORDS}),
    RECORDS,
)
def test_nothing_but_a_value_error_comes_out(data, segments):
    data["segments"] = segments
    for content in (json.dumps(data).encode(), pickle.dumps(data)):
        try:
            problem = parse_pytorch("in", content).problem
        except ValueError as error:
            assert str(error).startswith("in")
        else:
            assert solve(problem).has_plan


@given(st.binary(max_size=40))
def test_nothing_but_a_value_error_comes_out_of_bytes(data):
    for each in (data, b"{" + data, b'{"device_traces": [[' + data + b"]]}"):
        try:
            parse_pytorch("in", each)
        except ValueError as error:
            assert str(error).startswith("in")
