"""Export a plan as a memory snapshot of PyTorch, for its viewer (pytorch.org/memory_viz).

The format is that of `torch.cuda.memory._snapshot`: a pickle of dicts, lists, strings and numbers.
A pool is a segment. A buffer is allocated at the start of each live range, and freed at its end.
Frames name the buffer, the operator that runs at the start, and its operators in the model file.
"""

from __future__ import annotations

import pickle
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from usmp.report.map_data import Buffer, MemoryMap, ModelOperator, Pool
from usmp.report.read_map_data import map_of_metadata
from usmp.support.text.plain_text import printable

_PROTOCOL = 4
"""Version of the pickle protocol that PyTorch's viewer reads."""
_ALIGNMENT = 1 << 20
"""Alignment of segments in bytes. No segment starts at 0, which means no address."""
_DEVICE, _STREAM = 0, 0
_NO_CATEGORY = "unknown"
"""Category of the events of pools, because the viewer fails without a category."""


@dataclass(frozen=True)
class _Allocation:
    """A buffer in one of its live ranges. `stop` is None if it is live to the end."""

    buffer: Buffer
    address: int
    start: int
    stop: int | None
    frames: list[dict[str, Any]]


def memory_snapshot(metadata: Mapping[str, Any]) -> bytes:
    """Return the plan in the metadata of one module, as a pickle.

    Snapshots cannot show shared bytes. If an output overwrites a dying input, the input is freed
    when the output is allocated.

    Raises
    ------
    ValueError
        the metadata is damaged.
    """
    plan = map_of_metadata(metadata)
    segments, events, address = [], [], _ALIGNMENT
    for pool in plan.pools:
        if pool.peak_bytes == 0:
            continue
        allocations = list(_allocations(plan, pool, address))
        segments.append(_segment(pool, address, allocations))
        frames = _pool_frames(pool)
        event = _event("segment_alloc", address, pool.peak_bytes, 0, frames, _NO_CATEGORY)
        events.append((-1, 0, event))
        for allocation in allocations:
            events += _events(allocation)
        address += -(-pool.peak_bytes // _ALIGNMENT) * _ALIGNMENT
    events.sort(key=lambda event: event[:2])
    snapshot = {
        "segments": segments,
        "device_traces": [[event for _, _, event in events]],
        "allocator_settings": {},
        "external_annotations": [],
    }
    return pickle.dumps(_with_shared_strings(snapshot, {}), protocol=_PROTOCOL)


def _allocations(plan: MemoryMap, pool: Pool, address: int) -> Iterator[_Allocation]:
    spans = [
        (live, buffer)
        for buffer in pool.buffers
        if buffer.size_bytes
        for live in buffer.live_ranges
    ]
    spans.sort(key=lambda span: span[0])
    starts = [live[0] for live, _ in spans]
    for (start, stop), buffer in spans:
        later = spans[bisect_right(starts, start) : bisect_left(starts, stop)]
        overwritten = (live[0] for live, other in later if _share_bytes(buffer, other))
        end = next(overwritten, stop)
        yield _Allocation(
            buffer,
            address + buffer.offset_bytes,
            start,
            None if end == plan.positions else end,
            _frames(plan, buffer, start),
        )


def _share_bytes(one: Buffer, other: Buffer) -> bool:
    return one.offset_bytes < other.end_bytes and other.offset_bytes < one.end_bytes


def _events(allocation: _Allocation) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield the events of an allocation with sort keys: the position, and 0 for frees."""
    buffer = allocation.buffer

    def event(action: str, position: int) -> dict[str, Any]:
        return _event(
            action, allocation.address, buffer.size_bytes, position, allocation.frames, buffer.kind
        )

    yield allocation.start, 1, event("alloc", allocation.start)
    if allocation.stop is not None:
        # The viewer merges the two events only if they are adjacent.
        yield allocation.stop, 0, event("free_requested", allocation.stop)
        yield allocation.stop, 0, event("free_completed", allocation.stop)


def _event(
    action: str,
    address: int,
    size: int,
    position: int,
    frames: list[dict[str, Any]],
    category: str,
) -> dict[str, Any]:
    return {
        "action": action,
        "addr": address,
        "size": size,
        "stream": _STREAM,
        "time_us": position,
        "frames": frames,
        "category": printable(category),
    }


def _segment(pool: Pool, address: int, allocations: Sequence[_Allocation]) -> dict[str, Any]:
    """Return the segment of a pool: the blocks that are live at the end, and unused blocks."""
    live = sorted((a for a in allocations if a.stop is None), key=lambda a: a.address)
    blocks, place = [], address
    for allocation in live:
        if place < allocation.address:
            blocks.append(_block(place, allocation.address - place, "inactive", []))
        size = allocation.buffer.size_bytes
        blocks.append(_block(allocation.address, size, "active_allocated", allocation.frames))
        place = allocation.address + size
    if place < address + pool.peak_bytes:
        blocks.append(_block(place, address + pool.peak_bytes - place, "inactive", []))
    active = sum(allocation.buffer.size_bytes for allocation in live)
    return {
        "device": _DEVICE,
        "address": address,
        "total_size": pool.peak_bytes,
        "allocated_size": active,
        "active_size": active,
        "requested_size": active,
        "stream": _STREAM,
        "segment_type": "large",
        "segment_pool_id": [0, 0],
        "is_expandable": False,
        "frames": _pool_frames(pool),
        "blocks": blocks,
    }


def _block(address: int, size: int, state: str, frames: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "address": address,
        "size": size,
        "requested_size": size,
        "state": state,
        "frames": frames,
    }


def _pool_frames(pool: Pool) -> list[dict[str, Any]]:
    return [
        _frame(
            f"pool {pool.name}", "constant" if pool.is_constant else "workspace", pool.peak_bytes
        )
    ]


def _frames(plan: MemoryMap, buffer: Buffer, position: int) -> list[dict[str, Any]]:
    """Return frames for the buffer with its offset, and for the operators at a position."""
    frames = [_frame(f"{buffer.kind} {buffer.name}", buffer.function, buffer.offset_bytes)]
    operator = plan.operator_at(position)
    if operator is not None:
        frames.append(_frame(operator.function_names, f"entry {operator.entry}", operator.number))
        frames += [
            _frame(f"{origin.type_name} {' '.join(origin.outputs)}", _source(origin), origin.index)
            for origin in plan.origin(operator)
        ]
    return frames


def _source(operator: ModelOperator) -> str:
    """Return the subgraph of an operator, as the file name of a frame."""
    return f"subgraph {operator.graph} of the model" if operator.graph else "model"


def _frame(name: str, file: str, line: int) -> dict[str, Any]:
    return {"name": printable(name), "filename": printable(file), "line": line}


def _with_shared_strings(value: Any, texts: dict[str, str]) -> Any:
    """Copy a value with equal strings as one object.

    Pickle writes shared objects once, and equal plans must have equal bytes.
    """
    if isinstance(value, dict):
        return {texts.setdefault(k, k): _with_shared_strings(v, texts) for k, v in value.items()}
    if isinstance(value, list):
        return [_with_shared_strings(item, texts) for item in value]
    return texts.setdefault(value, value) if isinstance(value, str) else value
