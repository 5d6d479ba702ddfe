"""Snapshots of PyTorch's caching allocators."""

from __future__ import annotations

import pytest

from usmp_solver.formats.pytorch_data import Record
from usmp_solver.formats.pytorch_snapshot import snapshot_devices


def event(action, addr=0, size=0, **more):
    return {"action": action, "addr": addr, "size": size, **more}


def devices(*traces, segments=(), file_bytes=1 << 20):
    value = {"device_traces": list(traces), "segments": list(segments)}
    return snapshot_devices(Record("f", "the snapshot", value, file_bytes))


def lives(device):
    return [(life.name, life.pool, life.size, life.start, life.stop) for life in device.lifetimes]


def test_allocations_and_frees():
    trace = [
        event("alloc", 0, 8),
        event("alloc", 64, 16),
        event("free_requested", 0, 8),
        event("free_completed", 0, 8),
        event("free", 64, 16),
        event("alloc", 0, 4),
    ]
    [device] = devices(trace)
    assert device.name == "device0"
    assert lives(device) == [
        ("alloc0", "device0", 8, 0, 3),
        ("alloc1", "device0", 16, 1, 4),
        ("alloc5", "device0", 4, 5, 7),
    ]
    assert device.lifetimes[1].origin == "event 1"
    assert device.reserved_bytes is None


def test_devices_of_which_nothing_is_recorded_are_left_out():
    alloc = [event("alloc", 0, 8)]
    found = devices([], alloc, [], segments=[{"device": 3, "address": 0, "total_size": 4}])
    assert [device.name for device in found] == ["device1", "device3"]
    assert lives(found[0]) == [("device1.alloc0", "device1", 8, 0, 2)]
    assert (lives(found[1]), found[1].reserved_bytes) == ([], 4)
    [alone] = devices([], segments=[{"address": 0, "total_size": 4}])
    assert alone.name == "device0"
    [alone] = devices([], alloc)
    assert lives(alone)[0][0] == "device1.alloc0"


def test_streams_and_memory_pools_are_apart():
    trace = [
        event("alloc", 0, 8, stream=0, pool_id=[0, 0]),
        event("alloc", 16, 8, stream=7),
        event("alloc", 32, 8, stream=7, pool_id=[0, 3]),
        event("alloc", 48, 8, pool_id=(1, 2)),
        event("alloc", 64, 8, pool_id=[5]),
    ]
    assert [life[1] for life in lives(devices(trace)[0])] == [
        "device0",
        "device0.stream7",
        "device0.stream7.pool0-3",
        "device0.pool1-2",
        "device0.pool5",
    ]
    for wrong in ({"stream": 1 << 64}, {"stream": -1}, {"pool_id": [1, 2, 3]}, {"pool_id": [-1]}):
        with pytest.raises(ValueError, match="event 0 of device0"):
            devices([event("alloc", 0, 8, **wrong)])


@pytest.mark.parametrize(
    ("actions", "at_end", "expected"),
    [
        ([("segment_alloc", 64), ("segment_map", 32)], 96, 96),
        ([("segment_alloc", 64), ("segment_free", 64), ("segment_alloc", 32)], 32, 64),
        ([("segment_map", 64), ("segment_unmap", 16)], 48, 64),
        # 100 bytes were there before.
        ([("segment_alloc", 64)], 164, 164),
        ([("segment_free", 100), ("segment_alloc", 64)], 64, 100),
        ([("segment_alloc", 10), ("segment_free", 100)], 0, 100),
        ([("segment_free", 40), ("segment_alloc", 64)], 34, 64),
        ([], 0, None),
    ],
)
def test_the_most_bytes_that_were_reserved(actions, at_end, expected):
    trace = [event("alloc", 0, 8), *(event(action, 512, size) for action, size in actions)]
    segments = [{"address": 512, "total_size": at_end}] if at_end else []
    [device] = devices(trace, segments=segments)
    assert device.reserved_bytes == expected


def test_blocks_that_are_held_at_the_end():
    blocks = [
        {"size": 16, "state": "inactive"},
        {"size": 32, "state": "active_allocated", "requested_size": 30},
        {"size": 8, "state": "active_awaiting_free"},
        {"size": 8, "state": "active_pending_free", "address": 512},
        {"size": 4, "state": "active_allocated"},
    ]
    segment = {"address": 100, "total_size": 64, "stream": 2, "segment_pool_id": [0, 1]}
    trace = [event("alloc", 512, 3), event("free", 116, 5)]
    [device] = devices(trace, segments=[{**segment, "blocks": blocks}])
    pool = "device0.stream2.pool0-1"
    # The block at 512 is the one whose allocation was recorded.
    assert lives(device) == [
        ("freed1", "device0", 5, 0, 1),
        ("alloc0", "device0", 3, 0, 3),
        ("held1", pool, 8, 0, 3),
        ("held2", pool, 4, 0, 3),
        ("held0", pool, 30, 1, 3),
    ]
    held = {life.name: life.origin for life in device.lifetimes}
    assert held["held1"] == "block 2 of segment 0"


@pytest.mark.parametrize(
    ("traces", "segments", "message"),
    [
        ([{}], [], '"device_traces", but number 0 is none'),
        ([[], 5], [], "but number 1 is none"),
        ([[5]], [], "event 0 of device0 is no dict"),
        ([[event("alloc", -1, 0)]], [], '"addr"'),
        ([[event("alloc", 0, -1)]], [], '"size"'),
        ([[{"addr": 0}]], [], 'text as "action"'),
        ([[]], [{"device": 1 << 16}], '"device"'),
        ([[]], [{"device": -1}], '"device"'),
        ([[]], [{"address": 0, "blocks": [{"size": 1}]}], 'text as "state"'),
        ([[]], [{"address": 0}], '"total_size"'),
    ],
)
def test_snapshots_that_are_refused(traces, segments, message):
    with pytest.raises(ValueError, match=message):
        devices(*traces, segments=segments)


def test_a_file_has_8_bytes_for_each_event_segment_and_block():
    block = {"size": 4, "state": "inactive"}
    segments = [{"address": 0, "total_size": 8, "blocks": [block, block]}]
    trace = [event("alloc", 0, 8)] * 2
    assert devices(trace, segments=segments, file_bytes=40)
    with pytest.raises(ValueError, match="it has 5 events and blocks"):
        devices(trace, segments=segments, file_bytes=39)
