"""How many bytes are live at each position of a program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def live_bytes_by_position(
    buffers: Iterable[tuple[int, Iterable[tuple[int, int]]]],
) -> Mapping[int, int]:
    """The bytes that are live from each position on at which a live range begins or ends, in order.

    Parameters
    ----------
    buffers
        bytes of each, and its half-open live ranges.
    """
    changes: dict[int, int] = {}
    for size, ranges in buffers:
        for start, stop in ranges:
            changes[start] = changes.get(start, 0) + size
            changes[stop] = changes.get(stop, 0) - size
    live, found = 0, {}
    for position in sorted(changes):
        live += changes[position]
        found[position] = live
    return found


def most_live_bytes(buffers: Iterable[tuple[int, Iterable[tuple[int, int]]]]) -> int:
    """The most bytes that are live at one time; `buffers` as above."""
    return max(live_bytes_by_position(buffers).values(), default=0)
