"""The data that Vega draws of a pool: rows in program positions and bytes, with short labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from usmp.report.map_data import KINDS, Buffer, MemoryMap, Pool, Range
from usmp.report.plan_formats import common_ranges
from usmp.support.text.plain_text import shown

Row = dict[str, Any]

RING, OVERLAP = "ring of rows", "output overwrites what was read of an input"
"""Texts of the legend for marks other than kinds of buffers."""
_LONGEST_LABEL = 60
_HEADROOM = 1.14
"""Ratio of the top of the drawing to the highest line, with space for the label of the line."""
_HEADROOM_OF_ENTRIES = 1.25
"""The ratio with space for names of entries, too."""
_SHOWN_LIMIT = 1.5
"""Highest ratio of limit to peak to draw. A higher limit would make all other marks too small."""


def blocks(pool: Pool) -> list[Row]:
    """Return a block for each live range of each buffer. `id` is the index of the buffer, and
    `named` is the area for its name."""
    hatched: dict[str, list[Row]] = {}
    for overwritten, area in _overlaps(pool):
        for name in (overwritten, pool.buffers[area["id"]].name):
            hatched.setdefault(name, []).append(area)
    return [
        {
            "id": index,
            "name": shown(_short_name(buffer), _LONGEST_LABEL),
            "kind": buffer.kind,
            "ring": buffer.is_ring,
            "by": buffer.written_by[0] if buffer.written_by else index,
            "start": start,
            "stop": stop,
            "low": buffer.offset_bytes,
            "high": buffer.end_bytes,
            "named": _area_of_name(buffer, (start, stop), hatched.get(buffer.name, ())),
        }
        for index, buffer in enumerate(pool.buffers)
        if buffer.size_bytes
        for start, stop in buffer.live_ranges
    ]


def _short_name(buffer: Buffer) -> str:
    """Return the name of a buffer without its entry if the drawing shows the entry above it."""
    if len(buffer.entries) != 1 or buffer.kind in ("state", "constant"):
        return buffer.name
    return buffer.name.removeprefix(f"{buffer.entries[0]}.")


def _area_of_name(buffer: Buffer, live: Range, hatched: Iterable[Row]) -> Row:
    """Return the largest part of a block without hatched areas, if it is a third of the block."""
    low, high = buffer.offset_bytes, buffer.end_bytes
    block = area = {"start": live[0], "stop": live[1], "low": low, "high": high}
    for other in hatched:
        parts = [
            {**area, "stop": min(area["stop"], other["start"])},
            {**area, "start": max(area["start"], other["stop"])},
            {**area, "high": min(area["high"], other["low"])},
            {**area, "low": max(area["low"], other["high"])},
        ]
        largest = max(parts, key=_extent)
        if 3 * _extent(largest) >= _extent(block):
            area = largest
    return area


def _extent(area: Row) -> int:
    """Return the product of the positions and bytes of an area, 0 if it is empty."""
    return int(max(0, area["stop"] - area["start"]) * max(0, area["high"] - area["low"]))


def overlaps(pool: Pool) -> list[Row]:
    """Return the areas in which an output overlaps an input that is still live."""
    return [area for _, area in _overlaps(pool)]


def _overlaps(pool: Pool) -> Iterator[tuple[str, Row]]:
    """Yield the name of each input that is overwritten, and the area."""
    by_name = {buffer.name: buffer for buffer in pool.buffers}
    for index, buffer in enumerate(pool.buffers):
        for overlap in buffer.overlaps:
            other = by_name.get(overlap.name)
            if other is None:
                continue
            low, high = _shared(buffer, other)
            for start, stop in common_ranges(buffer.live_ranges, other.live_ranges):
                if low < high:
                    area = {"id": index, "start": start, "stop": stop, "low": low, "high": high}
                    yield overlap.name, area


def reads(pool: Pool, drawn: MemoryMap) -> list[Row]:
    """Return the areas in which operators read the constants of a pool."""
    return [
        {
            "id": index,
            "start": positions[0],
            "stop": positions[1],
            "low": buffer.offset_bytes,
            "high": buffer.end_bytes,
        }
        for index, buffer in enumerate(pool.buffers)
        for operator in buffer.read_by
        if (positions := drawn.operators[operator].positions) is not None
    ]


def live_bytes(pool: Pool, positions: int) -> list[Row]:
    """Return the live bytes at each position at which they change."""
    # Import late, because loading NumPy takes longer than printing a table of the plan.
    from usmp_solver.live_bytes import live_bytes_by_position

    whole = (0, [(0, positions)])
    steps = live_bytes_by_position([whole, *((b.size_bytes, b.live_ranges) for b in pool.buffers)])
    return [{"position": position, "live": live} for position, live in steps.items()]


def operator_marks(drawn: MemoryMap) -> list[Row]:
    """Return the interval and the label of each operator."""
    return [
        {
            "id": index,
            "label": shown(operator.label, _LONGEST_LABEL),
            "start": operator.positions[0],
            "stop": operator.positions[1],
        }
        for index, operator in enumerate(drawn.operators)
        if operator.positions is not None
    ]


def entry_marks(drawn: MemoryMap) -> list[Row]:
    """Return the interval and the name of each entry, if there are several."""
    if len(drawn.entries) < 2:
        return []
    return [
        {"label": shown(entry.name, _LONGEST_LABEL), "start": start, "stop": stop}
        for entry in drawn.entries
        for start, stop in [entry.positions]
    ]


def lines(pool: Pool) -> list[Row]:
    """Return the lines of the peak, the lower bound and the limit, with labels."""
    peak, bound, limit = pool.peak_bytes, pool.lower_bound_bytes, pool.limit_bytes
    if peak == bound:
        words = f"peak {peak} bytes = lower bound" if pool.is_optimal else f"peak {peak} bytes"
        rows = [{"line": "peak", "bytes": peak, "label": words}]
    else:
        rows = [
            {"line": "peak", "bytes": peak, "label": f"peak {peak} bytes"},
            {"line": "bound", "bytes": bound, "label": f"lower bound {bound}"},
        ]
    if limit is not None and limit <= peak * _SHOWN_LIMIT:
        rows.append({"line": "limit", "bytes": limit, "label": f"limit {limit} bytes"})
    return rows


def top_address(pool: Pool, has_entry_names: bool) -> float:
    """Return the highest address of the drawing."""
    headroom = _HEADROOM_OF_ENTRIES if has_entry_names else _HEADROOM
    return float(max([1, *(row["bytes"] for row in lines(pool))]) * headroom)


def most_live(pool: Pool, positions: int) -> int:
    """Return the most bytes of a pool that are live at once, or 1 if there are none."""
    return max(row["live"] for row in live_bytes(pool, positions)) or 1


def legend(pools: Sequence[Pool]) -> list[str]:
    """Return the kinds of buffers in pools, `RING` if any is a ring, `OVERLAP` if any overlap."""
    buffers = [buffer for pool in pools for buffer in pool.buffers]
    used = {buffer.kind for buffer in buffers}
    used |= {RING for buffer in buffers if buffer.is_ring}
    used |= {OVERLAP for buffer in buffers if buffer.overlaps}
    return [words for words in (*KINDS, RING, OVERLAP) if words in used]


def _shared(one: Buffer, other: Buffer) -> Range:
    """Return the addresses that two buffers share."""
    return max(one.offset_bytes, other.offset_bytes), min(one.end_bytes, other.end_bytes)
