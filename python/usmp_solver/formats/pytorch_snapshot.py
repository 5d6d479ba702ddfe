"""Snapshots of PyTorch's caching allocators: `segments` and `device_traces`.

The format is defined by `torch/cuda/memory.py` and `torch/cuda/_memory_viz.py` of PyTorch 2.13.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from usmp_solver.formats.allocation_history import AllocationHistory
from usmp_solver.formats.pytorch_data import Record
from usmp_solver.formats.recorded_device import RecordedDevice, check_events

_ALLOCATED = ("alloc",)
_RELEASED = ("free_completed", "free")
_RESERVED = {"segment_alloc": 1, "segment_map": 1, "segment_free": -1, "segment_unmap": -1}
_HELD = ("active_allocated", "active_awaiting_free", "active_pending_free")
_MOST_STREAM = 1 << 64
_POOL_NUMBERS = 2
"""Length of the id of a memory pool in PyTorch."""


def snapshot_devices(snapshot: Record) -> list[RecordedDevice]:
    """Return the devices of the snapshot with recorded events or segments.

    Raises
    ------
    ValueError
        The snapshot is malformed; the message names the event.
    """
    traces = snapshot.items("device_traces")
    check_events(snapshot, len(snapshot.items("segments", ())))
    segments = [
        Record(snapshot.file, f"segment {number}", segment)
        for number, segment in enumerate(snapshot.items("segments", ()))
    ]
    of_device: dict[int, list[Record]] = {}
    for segment in segments:
        of_device.setdefault(segment.integer("device", 0, 1 << 16, 0), []).append(segment)
    _check_count(snapshot, traces, segments)
    count = max([len(traces), *(number + 1 for number in of_device)])
    return [
        _device(
            snapshot.file,
            number,
            traces[number] if number < len(traces) else (),
            of_device.get(number, []),
            count > 1,
        )
        for number in range(count)
        if number in of_device or (number < len(traces) and traces[number])
    ]


def _check_count(snapshot: Record, traces: Sequence[Any], segments: Sequence[Record]) -> None:
    total = len(segments)
    for number, trace in enumerate(traces):
        if not isinstance(trace, (list, tuple)):
            snapshot.refuse(f'must have lists in "device_traces", but number {number} is none')
        total += len(trace)
    for segment in segments:
        total += len(segment.items("blocks", ()))
    check_events(snapshot, total)


def _device(
    file: str, number: int, trace: Sequence[Any], segments: Sequence[Record], has_prefix: bool
) -> RecordedDevice:
    name = f"device{number}"
    history = AllocationHistory(len(trace) + 1, f"{name}." if has_prefix else "")
    reserved = most_reserved = least_reserved = 0
    for index, entry in enumerate(trace):
        event = Record(file, f"event {index} of {name}", entry)
        action = event.text("action")
        if action in _ALLOCATED:
            history.allocate(index, _pool(name, event), event.address("addr"), event.size("size"))
        elif action in _RELEASED:
            history.release(index, _pool(name, event), event.address("addr"), event.size("size"))
        elif action in _RESERVED:
            reserved += _RESERVED[action] * event.size("size")
            most_reserved = max(most_reserved, reserved)
            least_reserved = min(least_reserved, reserved)
    for pool, origin, address, size in _held_blocks(name, segments):
        history.hold(pool, origin, address, size)
    lifetimes = tuple(history.lifetimes())
    at_end = sum(segment.size("total_size") for segment in segments)
    at_start = max(at_end - reserved, -least_reserved)
    total = at_start + most_reserved
    return RecordedDevice(name, lifetimes, total or None)


def _held_blocks(name: str, segments: Sequence[Record]) -> Iterator[tuple[str, str, int, int]]:
    """Yield pool, position in the file, address and bytes of the blocks in use at the end."""
    for segment in segments:
        pool = _pool(name, segment, "segment_pool_id")
        address = segment.address("address")
        for number, entry in enumerate(segment.items("blocks", ())):
            block = Record(segment.file, f"block {number} of {segment.place}", entry)
            size = block.size("size")
            if "address" in block.value:
                address = block.address("address")
            if block.text("state") in _HELD:
                has_requested = "requested_size" in block.value
                requested = block.size("requested_size") if has_requested else size
                yield pool, block.place, address, requested
            address += size


def _pool(device: str, record: Record, key: str = "pool_id") -> str:
    """Return the name of the pool for blocks of one device, stream and memory pool."""
    words = [device]
    stream = record.integer("stream", 0, _MOST_STREAM, 0)
    if stream:
        words.append(f"stream{stream}")
    memory_pool = record.integers(key, 0, _MOST_STREAM, (), _POOL_NUMBERS)
    if any(memory_pool):
        words.append(f"pool{'-'.join(map(str, memory_pool))}")
    return ".".join(words)
