"""Which live buffers may share bytes, and how many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple, Protocol

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
    # Where a map has the very object that is looked up, it need not ask TVM whether they are equal.
    traced = {memory: memory for memory in distances.groups}
    known = [
        _Buffer(
            info,
            traced.get(stmt.buffer, stmt.buffer),
            distances.groups.get(stmt.buffer, set()),
            mattered_before=_is_kept(info, stmt) or info.kind == BufferInfoKind.INPUT,
            matters_later=_is_kept(info, stmt) or info.kind in kept_kinds,
        )
        for info, stmt in buffers
    ]
    position = {buffer.info: index for index, buffer in enumerate(known)}
    overlaps: list[dict[BufferInfo, int]] = [{} for _ in known]
    for index, buffer in enumerate(known):
        for after in [position[other] for other in buffer.info.conflicts]:
            if after > index:
                found = _overlap(buffer, known[after], distances)
                if found is not None:
                    dying, written, distance = found
                    overlaps[index if written is buffer else after][dying.info] = distance
    for buffer, inputs in zip(known, overlaps, strict=True):
        if inputs:
            buffer.info.set_overlaps(inputs)


class _Buffer(NamedTuple):
    """A buffer, the memory that it is, and the outermost statements that access it."""

    info: BufferInfo
    memory: Memory
    statements: Set[object]
    mattered_before: bool
    """Whether there is content before the program's first access."""
    matters_later: bool
    """Whether the content is used after the program's last access."""


def _overlap(
    one: _Buffer, other: _Buffer, distances: SafeDistances
) -> tuple[_Buffer, _Buffer, int] | None:
    """Which of two buffers, as it dies, the other may overwrite, and from which distance on: the
    way round with which more bytes are saved, if both are safe; None if none saves any."""
    if one.statements.isdisjoint(other.statements):
        return None
    most_saved = 0
    found: tuple[_Buffer, _Buffer, int] | None = None
    for dying, written in ((one, other), (other, one)):
        if not dying.matters_later and not written.mattered_before:
            distance = distances.distance(dying.memory, written.memory)
            saved = min(dying.info.size_bytes, written.info.size_bytes - distance)
            if saved > most_saved:
                most_saved, found = saved, (dying, written, distance)
    return found


def _is_kept(info: BufferInfo, stmt: tirx.AllocBuffer) -> bool:
    kept = LIVE_THROUGHOUT_ATTR.of(stmt)
    return bool(kept) or info.kind == BufferInfoKind.STATE
