"""Safe overlaps of buffers that are live together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple, Protocol

from tvm import tirx

from usmp.analysis.memory.memories import Memory
from usmp.objects import BufferInfo, BufferInfoKind
from usmp.objects.attributes.annotations import LIVE_THROUGHOUT_ATTR


class SafeDistances(Protocol):
    """The interface of safe distances between memories; `SafeOverlap` implements it."""

    @property
    def groups(self) -> Mapping[Memory, set[object]]:
        """The outermost statements that access each memory."""

    def distance(self, dying: Memory, written: Memory) -> int:
        """Return the fewest bytes by which `written` must start below `dying`."""


def set_overlaps(
    buffers: Sequence[tuple[BufferInfo, tirx.AllocBuffer]],
    distances: SafeDistances,
    preserve_inputs: bool = False,
) -> None:
    """Set the safe overlaps of buffers that conflict.

    Parameters
    ----------
    buffers
        each buffer with its allocation, in program order.
    distances
        safe distances of the main PrimFunc.
    preserve_inputs
        whether inputs must be intact when the program ends.
    """
    known = [
        _Buffer(
            info,
            stmt.buffer,
            distances.groups.get(stmt.buffer, set()),
            has_content(info, stmt),
            is_used_later(info, stmt, preserve_inputs),
        )
        for info, stmt in buffers
    ]
    position = {buffer.info: index for index, buffer in enumerate(known)}
    overlaps: list[dict[BufferInfo, int]] = [{} for _ in known]
    for index, buffer in enumerate(known):
        for after in [position[other] for other in buffer.info.conflicts]:
            if after > index:
                overlap = _overlap(buffer, known[after], distances)
                if overlap is not None:
                    dying, written, distance = overlap
                    overlaps[index if written is buffer else after][dying.info] = distance
    for buffer, inputs in zip(known, overlaps, strict=True):
        if inputs:
            buffer.info.set_overlaps(inputs)


def has_content(info: BufferInfo, stmt: tirx.AllocBuffer) -> bool:
    """Return whether a buffer has content before the program's first access."""
    return _is_kept(info, stmt) or info.kind == BufferInfoKind.INPUT


def is_used_later(info: BufferInfo, stmt: tirx.AllocBuffer, preserve_inputs: bool) -> bool:
    """Return whether the content of a buffer is used after the program's last access."""
    is_kept_input = info.kind == BufferInfoKind.INPUT and preserve_inputs
    return _is_kept(info, stmt) or info.kind == BufferInfoKind.OUTPUT or is_kept_input


def _is_kept(info: BufferInfo, stmt: tirx.AllocBuffer) -> bool:
    return bool(LIVE_THROUGHOUT_ATTR.of(stmt)) or info.kind == BufferInfoKind.STATE


class _Buffer(NamedTuple):
    """A buffer, its memory, and the outermost statements that access it."""

    info: BufferInfo
    memory: Memory
    statements: Set[object]
    has_content: bool
    is_used_later: bool


def _overlap(
    first: _Buffer, second: _Buffer, distances: SafeDistances
) -> tuple[_Buffer, _Buffer, int] | None:
    """Return the dying and the written one of two buffers, and their safe distance in bytes.

    Of the two directions, return the one that saves more bytes; None if neither saves any, or if no
    statement accesses both buffers."""
    if first.statements.isdisjoint(second.statements):
        return None
    most_saved = 0
    overlap: tuple[_Buffer, _Buffer, int] | None = None
    for dying, written in ((first, second), (second, first)):
        if not dying.is_used_later and not written.has_content:
            distance = distances.distance(dying.memory, written.memory)
            saved = min(dying.info.size_bytes, written.info.size_bytes - distance)
            if saved > most_saved:
                most_saved, overlap = saved, (dying, written, distance)
    return overlap
