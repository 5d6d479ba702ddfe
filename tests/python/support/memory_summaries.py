"""Memory summaries of metadata that is written by hand."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from usmp.report import print_memory_summary


def pool(
    name: str, kind: str, peak: int, bound: int, *live: tuple[str, int], optimal: bool = True
) -> dict[str, Any]:
    """The metadata of a pool, in which these buffers, names and sizes, live at the peak."""
    buffers, offset = [], 0
    for buffer, size in live:
        kind_of_buffer = "state" if buffer.startswith("state") else "intermediate"
        described = {"name": buffer, "kind": kind_of_buffer, "offset": offset, "size": size}
        buffers.append({**described, "overlaps": {}})
        offset += size
    return {
        "name": name,
        "kind": kind,
        "peak_bytes": peak,
        "memory_pressure_bytes": bound - 1,
        "lower_bound_bytes": bound,
        "optimal": optimal,
        "live_at_peak": [buffer for buffer, _ in live],
        "buffers": buffers,
    }


def shown(metadata: dict[str, Any], width: int) -> list[str]:
    """The lines of the summary, spaces squeezed, rules and empty lines left out."""
    stream = io.StringIO()
    print_memory_summary(metadata, Console(file=stream, width=width, highlight=False))
    lines = [" ".join(line.split()) for line in stream.getvalue().splitlines()]
    return [line for line in lines if line and set(line) != {"─"}]
