"""Buffers to place, with their live ranges.

Source: RFC 0009 of apache/tvm-rfcs, "Reference-level explanation"; live ranges, pins and safe
overlaps are ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import starmap
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from tvm_ffi import Array, Map
from tvm_ffi.dataclasses import c_class
from tvm_ffi.serialization import from_json_graph_str, to_json_graph_str

from usmp.objects.ffi_object import FFIObject, ValueObject
from usmp.objects.pools import PoolInfo
from usmp.plain.buffer_place import BufferInfoKind


@c_class("usmp.LiveRange", init=False)
class LiveRange(ValueObject):
    """Half-open range ``[start, stop)`` of program positions.

    Raises
    ------
    ValueError
        The range is empty or reversed.
    """

    start: int
    stop: int

    def __init__(self, start: int, stop: int) -> None:
        self.__ffi_init__(start, stop)

    def intersects(self, other: LiveRange) -> bool:
        """Return whether both ranges have a position in common."""
        return max(self.start, other.start) < min(self.stop, other.stop)


@c_class("usmp.BufferInfo", init=False)
class BufferInfo(FFIObject):
    """One allocation to place.

    Buffers compare by identity, so that they can be keys of maps. In one pickle, or one deep copy,
    buffers keep their conflicts and overlaps with each other.

    Parameters
    ----------
    name_hint
        Name in reports and errors; need not be unique.
    size_bytes
        Size in bytes, 0 or more.
    pool_candidates
        Pools that may hold the buffer, best first.
    alignment
        Alignment of the offset, in bytes; 1 if missing.
    live_ranges
        Positions at which the content matters; if empty, only ``conflicts`` restrict sharing.
    kind
        Input, output, state, or neither: a :class:`BufferInfoKind`.
    fixed_offset
        Byte offset to which the buffer is pinned, in any candidate pool.

    Raises
    ------
    ValueError
        The size or the pin is negative, the alignment is not positive, the pin is not a multiple
        of the alignment, or the kind is unknown.
    """

    name_hint: str
    size_bytes: int
    pool_candidates: Array[PoolInfo]
    alignment: int
    live_ranges: Array[LiveRange]
    kind: int
    fixed_offset: int | None

    def __init__(
        self,
        name_hint: str,
        size_bytes: int,
        pool_candidates: Iterable[PoolInfo],
        alignment: int | None = None,
        live_ranges: Iterable[LiveRange] = (),
        kind: BufferInfoKind | int = BufferInfoKind.INTERMEDIATE,
        fixed_offset: int | None = None,
    ) -> None:
        self.__ffi_init__(
            name_hint,
            size_bytes,
            list(pool_candidates),
            1 if alignment is None else alignment,
            list(live_ranges),
            int(kind),
            fixed_offset,
        )

    def copy_with(
        self,
        pool_candidates: Iterable[PoolInfo] | None = None,
        live_ranges: Iterable[LiveRange] | None = None,
    ) -> BufferInfo:
        """Return a copy of this buffer without conflicts and overlaps.

        Parameters
        ----------
        pool_candidates, live_ranges
            values that replace those of this buffer.
        """
        return BufferInfo(
            self.name_hint,
            self.size_bytes,
            self.pool_candidates if pool_candidates is None else pool_candidates,
            self.alignment,
            self.live_ranges if live_ranges is None else live_ranges,
            self.kind,
            self.fixed_offset,
        )

    def is_live_with(self, other: BufferInfo) -> bool:
        """Return whether the content of both buffers matters at any position."""
        return any(a.intersects(b) for a in self.live_ranges for b in other.live_ranges)

    if TYPE_CHECKING:

        def _conflicts(self) -> Array[BufferInfo]: ...

        def _set_conflicts(self, conflicts: list[BufferInfo]) -> None: ...

        def _overlaps(self) -> Map[BufferInfo, int]: ...

        def _set_overlaps(self, overlaps: dict[BufferInfo, int]) -> None: ...

    @property
    def conflicts(self) -> Array[BufferInfo]:
        """Buffers that may not share bytes with this one.

        These are weak references: a buffer without other references is no longer listed.
        """
        return self._conflicts()

    def set_conflicts(self, conflicts: Iterable[BufferInfo]) -> None:
        """Replace the conflicts; of two conflicting buffers, only one needs to list the other."""
        self._set_conflicts(list(conflicts))

    @property
    def overlaps(self) -> Map[BufferInfo, int]:
        """Safe overlaps: the inputs that die in the operator that writes this buffer, each with
        the smallest number of bytes by which this buffer must start below it.

        At that distance, this buffer and the input may share bytes although they conflict. A
        distance of 0 permits the same offset; one of the size of this buffer permits no shared
        byte. Like conflicts, overlaps are weak references.
        """
        return self._overlaps()

    def set_overlaps(self, overlaps: Mapping[BufferInfo, int]) -> None:
        """Replace the safe overlaps.

        Raises
        ------
        ValueError
            A distance is negative or larger than this buffer.
        """
        self._set_overlaps(dict(overlaps))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the buffer together with the buffers that it refers to."""
        group = _group_of(self)
        return _member, (group, group.numbers[self])


class _Group:
    """Buffers that refer to each other.

    A pickle has each group once, so that all references to a buffer are loaded as one object, with
    its conflicts and overlaps.

    Parameters
    ----------
    buffers
        the buffers of the group.
    """

    def __init__(self, buffers: Iterable[BufferInfo]) -> None:
        self.buffers = list(buffers)
        self.numbers = {buffer: number for number, buffer in enumerate(self.buffers)}

    def buffer(self, reference: BufferInfo | int) -> BufferInfo:
        """Return the buffer of a number; a buffer of another group is returned unchanged."""
        return self.buffers[reference] if isinstance(reference, int) else reference

    def __reduce__(self) -> tuple[Any, ...]:
        pools = {pool.id_: pool for buffer in self.buffers for pool in buffer.pool_candidates}
        numbers = {identity: number for number, identity in enumerate(pools)}
        rows = []
        for buffer in self.buffers:
            candidates = [numbers[pool.id_] for pool in buffer.pool_candidates]
            ranges = [(live.start, live.stop) for live in buffer.live_ranges]
            fields = (buffer.alignment, ranges, buffer.kind, buffer.fixed_offset)
            conflicts = [self.numbers.get(other, other) for other in buffer.conflicts]
            overlaps = [(self.numbers.get(b, b), bytes_) for b, bytes_ in buffer.overlaps.items()]
            rows.append(
                (buffer.name_hint, buffer.size_bytes, candidates, fields, conflicts, overlaps)
            )
        return _loaded_group, (list(pools.values()), rows)


def _loaded_group(pools: list[PoolInfo], rows: list[tuple[Any, ...]]) -> _Group:
    group = _Group(
        BufferInfo(
            name, size, [pools[n] for n in candidates], alignment, starmap(LiveRange, ranges), *kind
        )
        for name, size, candidates, (alignment, ranges, *kind), _, _ in rows
    )
    for buffer, (*_, conflicts, overlaps) in zip(group.buffers, rows, strict=True):
        buffer.set_conflicts(map(group.buffer, conflicts))
        buffer.set_overlaps({group.buffer(other): bytes_ for other, bytes_ in overlaps})
    return group


def _member(group: _Group, number: int) -> BufferInfo:
    return group.buffers[number]


_GROUPS: WeakValueDictionary[BufferInfo, _Group] = WeakValueDictionary()
"""The groups of buffers that are being pickled or copied; the pickle keeps its group alive."""
_GROUPS_LOCK = Lock()


def _group_of(buffer: BufferInfo) -> _Group:
    """Return the group in which the buffer is pickled.

    Its members may refer to buffers of earlier groups, which do not refer to them.
    """
    with _GROUPS_LOCK:
        group = _GROUPS.get(buffer)
        if group is None:
            members = {buffer: buffer}
            unread = [buffer]
            while unread:
                last = unread.pop()
                for other in (*last.conflicts, *last.overlaps):
                    if other not in members and other not in _GROUPS:
                        members[other] = other
                        unread.append(other)
            group = _Group(members)
            _GROUPS.update(dict.fromkeys(members, group))
        return group


@c_class("usmp.BufferInfoAnalysis", init=False)
class BufferInfoAnalysis(FFIObject):
    """The result of the liveness analysis of a module.

    Parameters
    ----------
    buffer_info_stmts
        The statement that allocates each buffer.
    memory_pressure
        Most bytes of workspace buffers that are live at once, with padding for alignment.
    pool_memory_pressure
        Memory pressure by pool name, over all buffers with the pool as a candidate, in bytes.

    Raises
    ------
    ValueError
        A memory pressure is negative.
    """

    buffer_info_stmts: Map[BufferInfo, Any]
    memory_pressure: int
    pool_memory_pressure: Map[str, int]

    def __init__(
        self,
        buffer_info_stmts: Mapping[BufferInfo, Any],
        memory_pressure: int,
        pool_memory_pressure: Mapping[str, int] | None = None,
    ) -> None:
        self.__ffi_init__(
            dict(buffer_info_stmts), memory_pressure, dict(pool_memory_pressure or {})
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle all statements as one string, because they share variables."""
        buffers = list(self.buffer_info_stmts.keys())
        text = to_json_graph_str(list(self.buffer_info_stmts.values()))
        pressures = dict(self.pool_memory_pressure.items())
        return _loaded_analysis, (buffers, text, self.memory_pressure, pressures)


def _loaded_analysis(
    buffers: list[BufferInfo], text: str, pressure: int, pressures: dict[str, int]
) -> BufferInfoAnalysis:
    statements = from_json_graph_str(text)
    return BufferInfoAnalysis(dict(zip(buffers, statements, strict=True)), pressure, pressures)
