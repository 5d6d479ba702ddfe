"""Which live buffers may share bytes, and how many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Protocol

from tvm import tirx

from usmp.analysis.memory.memories import Memory
from usmp.objects import BufferInfo, BufferInfoKind
from usmp.objects.annotations import LIVE_THROUGHOUT_ATTR


class SafeDistances(Protocol):
    """The safe distances between memories, as `SafeOverlap` has them."""

    @property
    def groups(self) -> Mapping[Memory, set[object]]:
        """The outermost statements that access each memory."""

    def distance(self, dying: Memory, written: Memory) -> int:
        """By how many bytes `written` must start below `dying` at least."""


def set_overlaps(
    buffers: Sequence[tuple[BufferInfo, tirx.AllocBuffer]],
    distances: SafeDistances,
    preserve_inputs: bool = False,
) -> None:
    """Set the safe overlaps of buffers that conflict.

    Parameters
    ----------
    buffers
        each with its allocation, in program order.
    distances
        of the PrimFunc with which the program begins.
    preserve_inputs
        whether inputs must be intact when the program ends.
    """
    kept_kinds = {BufferInfoKind.OUTPUT, *([BufferInfoKind.INPUT] if preserve_inputs else [])}
    matters_later = {
        info for info, stmt in buffers if info.kind in kept_kinds or _is_kept(info, stmt)
    }
    position = {info: index for index, (info, _) in enumerate(buffers)}
    overlaps: dict[BufferInfo, dict[BufferInfo, int]] = {info: {} for info, _ in buffers}
    for index, (info, stmt) in enumerate(buffers):
        for other in info.conflicts[:]:
            if position[other] > index:
                _set_overlap(
                    (info, stmt), buffers[position[other]], distances, matters_later, overlaps
                )
    for info, inputs in overlaps.items():
        if inputs:
            info.set_overlaps(inputs)


def _set_overlap(
    one: tuple[BufferInfo, tirx.AllocBuffer],
    other: tuple[BufferInfo, tirx.AllocBuffer],
    distances: SafeDistances,
    matters_later: Set[BufferInfo],
    overlaps: dict[BufferInfo, dict[BufferInfo, int]],
) -> None:
    """Let one of two buffers overwrite the other while that dies: the one with which more bytes are
    saved, if both may. The content of those in `matters_later` is used after the last access."""
    groups = [distances.groups.get(stmt.buffer, set()) for _, stmt in (one, other)]
    if groups[0].isdisjoint(groups[1]):
        return
    most_saved = 0
    found: tuple[BufferInfo, BufferInfo, int] | None = None
    for (dying, dies), (written, is_written) in ((one, other), (other, one)):
        if dying not in matters_later and not _mattered_before(written, is_written):
            distance = distances.distance(dies.buffer, is_written.buffer)
            saved = min(dying.size_bytes, written.size_bytes - distance)
            if saved > most_saved:
                most_saved, found = saved, (dying, written, distance)
    if found:
        dying, written, distance = found
        overlaps[written][dying] = distance


def _mattered_before(info: BufferInfo, stmt: tirx.AllocBuffer) -> bool:
    """Whether there is content before the program's first access."""
    return _is_kept(info, stmt) or info.kind == BufferInfoKind.INPUT


def _is_kept(info: BufferInfo, stmt: tirx.AllocBuffer) -> bool:
    kept = LIVE_THROUGHOUT_ATTR.of(stmt)
    return bool(kept) or info.kind == BufferInfoKind.STATE
