"""Buffers to place, and when they are live.

Source: RFC 0009 of apache/tvm-rfcs, "Reference-level explanation"; live ranges are ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from tvm_ffi import Array, Map
from tvm_ffi.dataclasses import c_class

from usmp.objects.ffi_object import FFIObject
from usmp.objects.pools import PoolInfo


class BufferInfoKind(IntEnum):
    """Where a buffer comes from; the numbers are TVM's."""

    INTERMEDIATE = 0
    INPUT = 1
    OUTPUT = 2


@c_class("usmp.LiveRange", init=False)
class LiveRange(FFIObject):
    """Half-open span ``[start, stop)`` of program positions.

    Raises
    ------
    ValueError
        The span is empty or reversed.
    """

    start: int
    stop: int

    def __init__(self, start: int, stop: int) -> None:
        self.__ffi_init__(start, stop)


@c_class("usmp.BufferInfo", init=False)
class BufferInfo(FFIObject):
    """One allocation to place.

    Two buffers are equal only if they are one object, whatever their fields say; so a buffer can be
    the key of a map.

    Parameters
    ----------
    name_hint
        Name in reports and errors; need not be unique.
    size_bytes
        Bytes that the buffer takes, 0 or more.
    pool_candidates
        Pools that may hold the buffer, best first.
    alignment
        Bytes of which the offset must be a multiple.
    live_ranges
        Positions at which the content matters; without any, only ``conflicts`` say so.
    kind
        Input, output, or neither: a :class:`BufferInfoKind`.

    Raises
    ------
    ValueError
        The size is negative, the alignment is not positive, or the kind is unknown.
    """

    name_hint: str
    size_bytes: int
    pool_candidates: Array[PoolInfo]
    alignment: int
    live_ranges: Array[LiveRange]
    kind: int

    def __init__(
        self,
        name_hint: str,
        size_bytes: int,
        pool_candidates: Iterable[PoolInfo],
        alignment: int = 1,
        live_ranges: Iterable[LiveRange] = (),
        kind: BufferInfoKind | int = BufferInfoKind.INTERMEDIATE,
    ) -> None:
        self.__ffi_init__(
            name_hint, size_bytes, list(pool_candidates), alignment, list(live_ranges), int(kind)
        )

    if TYPE_CHECKING:

        def _conflicts(self) -> Array[BufferInfo]: ...

        def _set_conflicts(self, conflicts: list[BufferInfo]) -> None: ...

    @property
    def conflicts(self) -> Array[BufferInfo]:
        """Buffers that may not share bytes with this one, as they were set.

        They are not kept alive: one that nobody else holds any more is gone from here too.
        """
        return self._conflicts()

    def set_conflicts(self, conflicts: Iterable[BufferInfo]) -> None:
        """Replace the conflicts. One of two conflicting buffers may leave it to the other."""
        self._set_conflicts(list(conflicts))


@c_class("usmp.BufferInfoAnalysis", init=False)
class BufferInfoAnalysis(FFIObject):
    """What the liveness analysis of a module found.

    Parameters
    ----------
    buffer_info_stmts
        Each buffer with the statement that allocates it.
    memory_pressure
        Largest number of bytes live at one time.

    Raises
    ------
    ValueError
        The memory pressure is negative.
    """

    buffer_info_stmts: Map[BufferInfo, Any]
    memory_pressure: int

    def __init__(self, buffer_info_stmts: Mapping[BufferInfo, Any], memory_pressure: int) -> None:
        self.__ffi_init__(dict(buffer_info_stmts), memory_pressure)
