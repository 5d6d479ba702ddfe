"""How many bytes of a pool are live at each position."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from usmp.report.exchange.plan import Buffer


def live_bytes(buffers: Iterable[Buffer]) -> dict[int, int]:
    """The sum of the sizes of live buffers from each position on at which it changes."""
    changes: dict[int, int] = defaultdict(int)
    for buffer in buffers:
        for start, stop in buffer.live:
            changes[start] += buffer.size
            changes[stop] -= buffer.size
    live, steps = 0, {}
    for position in sorted(changes):
        if changes[position]:
            live += changes[position]
            steps[position] = live
    return steps
