"""Memory pressure: the most bytes live at once, a lower bound of every plan without overlap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from heapq import heappop, heappush
from math import gcd
from typing import Protocol

from usmp.objects import LiveRange
from usmp_solver.live_bytes import live_bytes_by_position


class Live(Protocol):
    """An object with a size, an alignment and live ranges."""

    @property
    def size_bytes(self) -> int:
        """The number of bytes while live."""

    @property
    def alignment(self) -> int:
        """The alignment of the offset, in bytes."""

    @property
    def live_ranges(self) -> Iterable[LiveRange]:
        """The live ranges, in program positions."""


def memory_pressure(buffers: Iterable[Live]) -> int:
    """Return the most bytes that buffers take in a pool at any program position.

    Padding is counted: if all offsets are multiples of n bytes, sizes are rounded up to multiples
    of n, except one, because the topmost buffer needs no padding. The result is the maximum over
    all alignments. Each alignment includes the buffers with at least this alignment; n is the gcd
    of their alignments. Without overlap of live buffers, no plan for one pool has a smaller peak.
    """
    buffers = [buffer for buffer in buffers if buffer.size_bytes > 0]
    pressure = 0
    for least in {buffer.alignment for buffer in buffers}:
        aligned = [buffer for buffer in buffers if buffer.alignment >= least]
        unit = gcd(*(buffer.alignment for buffer in aligned))
        pressure = max(pressure, _pressure(aligned, unit))
    return pressure


def live_byte_steps(buffers: Iterable[Live]) -> Mapping[int, int]:
    """Return the live bytes at each position where a live range begins or ends, in order."""
    return live_bytes_by_position(
        (int(buffer.size_bytes), [(int(r.start), int(r.stop)) for r in buffer.live_ranges])
        for buffer in buffers
    )


def fullest_position(buffers: Iterable[Live]) -> int:
    """Return the first position with the most live bytes; 0 without buffers."""
    steps = live_byte_steps(buffers)
    return max(steps, key=steps.__getitem__, default=0)


def _pressure(buffers: list[Live], unit: int) -> int:
    """Return the memory pressure if all offsets are multiples of `unit` bytes."""
    changes: dict[int, list[int]] = {}
    for index, buffer in enumerate(buffers):
        for live in buffer.live_ranges:
            changes.setdefault(live.start, []).append(index)
            changes.setdefault(live.stop, []).append(~index)
    rounded = [-(-buffer.size_bytes // unit) * unit for buffer in buffers]
    saved = [size - buffer.size_bytes for size, buffer in zip(rounded, buffers, strict=True)]
    ranges: dict[int, int] = {}  # index -> number of its ranges that are open
    most_saved: list[tuple[int, int]] = []  # a heap; dead buffers are popped lazily
    total = pressure = 0
    for position in sorted(changes):
        for change in changes[position]:
            index, by = (change, 1) if change >= 0 else (~change, -1)
            before = ranges.get(index, 0)
            ranges[index] = before + by
            if before <= 0 < before + by:
                heappush(most_saved, (-saved[index], index))
            total += rounded[index] * ((before + by > 0) - (before > 0))
        while most_saved and ranges[most_saved[0][1]] <= 0:
            heappop(most_saved)
        pressure = max(pressure, total + (most_saved[0][0] if most_saved else 0))
    return pressure
