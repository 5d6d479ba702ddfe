"""The memory map on a terminal: bars of the pools, and the largest buffers over time."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from usmp.report.map_data import Buffer, MemoryMap, Pool
from usmp.report.summary.io import IO_TEXTS
from usmp.report.table_layout import PAGE
from usmp.report.text_tables import printed_text, text_width
from usmp.support.text.plain_text import shown

_TOP_BUFFERS = 10
_LEAST_WIDTH, _MOST_WIDTH = 40, 200
"""Cells of a line on a terminal; elsewhere a map has `PAGE` cells."""
_COLORS = {
    "input": "yellow",
    "output": "green",
    "intermediate": "blue",
    "scratch": "magenta",
    "state": "red",
    "constant": "white",
}


def map_text(drawn: MemoryMap) -> str:
    """Return the text that `print_memory_map` prints, without colors."""
    return printed_text(lambda console: print_memory_map(drawn, console))


def print_memory_map(drawn: MemoryMap, console: Console | None = None) -> None:
    """Print for each pool a bar of its peak, lower bound and limit, then its largest buffers.

    ASCII replaces characters that the encoding of the output lacks.
    """
    console = console or Console(highlight=False)
    width = text_width(console)
    width = PAGE if width == sys.maxsize else min(max(width, _LEAST_WIDTH), _MOST_WIDTH)
    full, light, cut = _signs(console.encoding)
    if not drawn.pools:
        console.print("There is no map: the plan has no buffers.")
    for pool in drawn.pools:
        lines = [_title(pool, width, cut), *_bars(pool, width, full, light)]
        if not pool.is_constant:
            lines += [Text(), *_largest(pool, drawn.positions, width, full, light, cut)]
        # Do not wrap lines, which fit, and do not interpret names as markup.
        for line in [*lines, Text()]:
            console.print(line, soft_wrap=True, markup=False, emoji=False, highlight=False)


def _signs(encoding: str) -> tuple[str, str, str]:
    """Return the characters for a full cell, an empty cell, and the cut end of a name."""
    signs = ("█", "·", "…")
    try:
        "".join(signs).encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return "#", ".", "~"
    return signs


def _title(pool: Pool, width: int, cut: str) -> Text:
    kind = f"{pool.kind}: {IO_TEXTS[pool.io]}" if pool.io in IO_TEXTS else pool.kind
    name = _fitted(shown(pool.name), width - len(kind) - 3, cut).rstrip()
    return Text.assemble((name, "bold"), f" ({kind})")


def _bars(pool: Pool, width: int, full: str, light: str) -> list[Text]:
    """Return bars of the peak, the lower bound and the limit, in a common scale."""
    rows = [("peak", pool.peak_bytes, "red"), ("lower bound", pool.lower_bound_bytes, "cyan")]
    if pool.limit_bytes is not None:
        rows.append(("limit", pool.limit_bytes, "magenta"))
    most = max(size for _, size, _ in rows)
    digits = len(str(most))
    cells = width - len("lower bound") - digits - 3
    return [
        Text.assemble(
            f"{words:<11} {size:>{digits}}  ", _bar(0, size, most, cells, full, light, color)
        )
        for words, size, color in rows
    ]


def _largest(pool: Pool, positions: int, width: int, full: str, light: str, cut: str) -> list[Text]:
    """Return the largest buffers with their live ranges, sorted by their first live range."""
    order = sorted(pool.buffers, key=lambda buffer: (-buffer.size_bytes, buffer.name))
    top = sorted(order[:_TOP_BUFFERS], key=lambda b: (b.live_ranges[:1], b.offset_bytes))
    if not top:
        return []
    digits = max(5, *(len(str(buffer.size_bytes)) for buffer in top))
    name_width = min(max(6, *(cell_len(shown(b.name)) for b in top)), width // 3)
    cells = width - name_width - digits - 3
    heading = f"{_fitted('buffer', name_width, cut)} {'bytes':>{digits}}  "
    over = "live over time" if cells >= len("live over time") else "live"
    lines = [Text(heading + over, style="dim")]
    for buffer in top:
        name = _fitted(shown(buffer.name), name_width, cut)
        start = f"{name} {buffer.size_bytes:>{digits}}  "
        lines.append(Text.assemble(start, _times(buffer, positions, cells, full, light)))
    hidden = len(pool.buffers) - len(top)
    if hidden:
        rest = sum(b.size_bytes for b in order[_TOP_BUFFERS:])
        lines.append(Text(f"and {hidden} smaller, of {rest} bytes"))
    return lines


def _times(buffer: Buffer, positions: int, cells: int, full: str, light: str) -> Text:
    """Return a cell for each interval of positions, full if the buffer is live in part of it."""
    marked = [False] * cells
    for start, stop in buffer.live_ranges:
        first = start * cells // max(1, positions)
        last = max(first + 1, -(-stop * cells // max(1, positions)))
        marked[first:last] = [True] * len(marked[first:last])
    return _cells(marked, full, light, _COLORS[buffer.kind])


def _bar(start: int, stop: int, most: int, cells: int, full: str, light: str, color: str) -> Text:
    """Return a bar with at least one full cell if `stop` is not zero."""
    length = max(1 if stop else 0, stop * cells // max(1, most))
    return _cells([start <= i < length for i in range(cells)], full, light, color)


def _cells(marked: Sequence[bool], full: str, light: str, color: str) -> Text:
    text = Text()
    for is_marked in marked:
        text.append(full if is_marked else light, style=color if is_marked else "dim")
    return text


def _fitted(name: str, width: int, cut: str) -> str:
    """Pad or cut a name to `width` columns. Some characters take two columns."""
    if cell_len(name) <= width:
        return set_cell_size(name, width)
    return set_cell_size(name, width - 1) + cut
