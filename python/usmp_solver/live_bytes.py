"""The number of live bytes at each position of a program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def live_bytes_by_position(
    buffers: Iterable[tuple[int, Iterable[tuple[int, int]]]],
) -> Mapping[int, int]:
    """Return the live bytes after each position at which a live range begins or ends, in order.

    Parameters
    ----------
    buffers
        size in bytes and half-open live ranges of each buffer.
    """
    changes: dict[int, int] = {}
    for size, ranges in buffers:
        for start, stop in ranges:
            changes[start] = changes.get(start, 0) + size
            changes[stop] = changes.get(stop, 0) - size
    live, totals = 0, {}
    for position in sorted(changes):
        live += changes[position]
        totals[position] = live
    return totals


def most_live_bytes(buffers: Iterable[tuple[int, Iterable[tuple[int, int]]]]) -> int:
    """Return the memory pressure in bytes; `buffers` are as in `live_bytes_by_position`."""
    return max(live_bytes_by_position(buffers).values(), default=0)
