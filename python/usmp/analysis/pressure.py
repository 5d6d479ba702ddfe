"""The most bytes that are needed at one time: a lower bound of every plan without overlap."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush
from math import gcd
from typing import Protocol

from usmp.objects import LiveRange


class Live(Protocol):
    """Anything that takes bytes at program positions."""

    @property
    def size_bytes(self) -> int:
        """Bytes that it takes while it is live."""

    @property
    def alignment(self) -> int:
        """Bytes of which its offset is a multiple."""

    @property
    def live_ranges(self) -> Iterable[LiveRange]:
        """When it is live."""


def memory_pressure(buffers: Iterable[Live]) -> int:
    """The largest number of bytes that buffers live at the same program position take in a pool.

    Alignment is counted: between buffers whose offsets are multiples of n bytes, every size but
    the last one's is rounded up to n. This holds for all buffers, with the greatest common divisor
    of their alignments, and for those of at least some alignment alone. No plan in which live
    buffers do not overlap has a smaller peak, if one pool holds them all.
    """
    buffers = [buffer for buffer in buffers if buffer.size_bytes > 0]
    pressure = 0
    for least in {buffer.alignment for buffer in buffers}:
        aligned = [buffer for buffer in buffers if buffer.alignment >= least]
        unit = gcd(*(buffer.alignment for buffer in aligned))
        pressure = max(pressure, _pressure(aligned, unit))
    return pressure


def _pressure(buffers: list[Live], unit: int) -> int:
    """With offsets that are multiples of `unit` bytes."""
    changes: dict[int, list[int]] = {}
    for index, buffer in enumerate(buffers):
        for live in buffer.live_ranges:
            changes.setdefault(live.start, []).append(index)
            changes.setdefault(live.stop, []).append(~index)
    rounded = [-(-buffer.size_bytes // unit) * unit for buffer in buffers]
    saved = [size - buffer.size_bytes for size, buffer in zip(rounded, buffers, strict=True)]
    ranges: dict[int, int] = {}  # index -> number of its ranges that are open
    most_saved: list[tuple[int, int]] = []  # a heap; what is live no more is dropped when it is top
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
