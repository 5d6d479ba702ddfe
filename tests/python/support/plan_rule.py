"""The placement rule by brute force, for tests: every pair of buffers is looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from usmp_solver import Buffer


def live_together(a: Buffer, b: Buffer) -> bool:
    """Whether the two are live at one time."""
    return any(
        max(start, begin) < min(stop, end) for start, stop in a.live for begin, end in b.live
    )


def faults(buffers: Sequence[Buffer], places: Mapping[str, tuple[str, int]]) -> list[str]:
    """What is wrong with the plan, in words; nothing if it is sound."""
    found = []
    for buffer in buffers:
        pool, offset = places[buffer.name]
        if buffer.pools and pool not in buffer.pools:
            found.append(f"{buffer.name} pool")
        if offset < 0 or offset % buffer.alignment or buffer.offset not in (None, offset):
            found.append(f"{buffer.name} offset")
    for a, b in combinations(buffers, 2):
        conflict = live_together(a, b) or b.name in a.conflicts or a.name in b.conflicts
        if not conflict or places[a.name][0] != places[b.name][0]:
            continue
        if not (_is_below(a, b, places) or _is_below(b, a, places)):
            found.append(f"{a.name} {b.name}")
    return found


def _is_below(a: Buffer, b: Buffer, places: Mapping[str, tuple[str, int]]) -> bool:
    separation = a.overlaps.get(b.name, a.size)
    return a.size * b.size == 0 or places[a.name][1] + separation <= places[b.name][1]
