"""Memory events in profiles of PyTorch."""

from __future__ import annotations

import pytest

from usmp_solver.formats.pytorch_data import Record
from usmp_solver.formats.pytorch_profile import profile_devices

MOST = 1 << 48


def memory(ts, addr, count, kind=0, index=-1, **more):
    details = {"Device Type": kind, "Device Id": index, "Addr": addr, "Bytes": count, **more}
    return {"name": "[memory]", "ts": ts, "args": details}


def devices(*events):
    return profile_devices(Record("f", "the file", {"traceEvents": list(events)}, 1 << 20))


def lives(device):
    return [(life.name, life.pool, life.size, life.start, life.stop) for life in device.lifetimes]


def test_events_are_in_the_order_of_time_and_index():
    [device] = devices(
        {"name": "aten::add"},
        memory(2.5, 64, 16, **{"Ev Idx": 2}),
        memory(1, 0, 8),
        memory(2.5, 0, -8, **{"Ev Idx": 1}),
        memory(2.5, 0, 0, **{"Ev Idx": 3}),
    )
    assert device.name == "cpu"
    assert lives(device) == [
        ("alloc0", "cpu", 8, 0, 1),
        ("alloc2", "cpu", 16, 2, 5),
        ("alloc3", "cpu", 0, 3, 5),
    ]
    assert device.reserved_bytes is None


def test_devices_and_what_is_reserved():
    found = devices(
        memory(1, 0, 8, 1, 1, **{"Total Reserved": 64}),
        memory(2, 0, -8, 1, 1, **{"Total Reserved": 32}),
        memory(1, 0, 8, 1, 0),
        memory(1, 0, 8, 0, -1),
        memory(1, 0, 8, 20, 3),
        memory(1, 0, 8, -1),
    )
    assert [d.name for d in found] == ["cpu", "cuda0", "cuda1", "device-1", "device203"]
    assert [d.reserved_bytes for d in found] == [None, None, 64, None, None]
    assert lives(found[2]) == [("cuda1.alloc0", "cuda1", 8, 0, 1)]


@pytest.mark.parametrize(
    "wrong",
    [
        {"Bytes": MOST},
        {"Bytes": -MOST - 1},
        {"Bytes": None},
        {"Device Type": -2},
        {"Device Type": 1 << 16},
        {"Device Id": -2},
        {"Device Id": 1 << 16},
        {"Ev Idx": -1},
        {"Ev Idx": 1 << 62},
        {"Total Reserved": -1},
        {"Total Reserved": 1 << 62},
    ],
)
def test_numbers_that_are_refused(wrong):
    with pytest.raises(ValueError, match=r'"args" of event 0 must have a whole number'):
        devices(memory(1, 0, 8, **wrong))


def test_the_largest_numbers_that_are_taken():
    largest = {"Ev Idx": (1 << 62) - 1, "Total Reserved": (1 << 62) - 1}
    [device] = devices(memory(1, 0, MOST - 1, (1 << 16) - 1, (1 << 16) - 1, **largest))
    assert device.reserved_bytes == (1 << 62) - 1
    assert lives(devices(memory(0, 0, -MOST), memory(1, 1, 1))[0])


def test_profiles_without_memory_are_refused():
    with pytest.raises(ValueError, match=r'has no event "\[memory\]"'):
        devices({"name": "aten::add", "args": {}})
    with pytest.raises(ValueError, match='must have a number as "ts"'):
        devices(memory("1", 0, 8))
