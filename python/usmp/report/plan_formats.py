"""The memory plan for other programs: JSON as in metadata.json, and CSV with a row for a buffer."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from typing import Any

from usmp.support.plain_text import printable

CSV_COLUMNS = (
    "pool",
    "pool_kind",
    "name",
    "kind",
    "function",
    "offset",
    "size",
    "live_ranges",
    "overlaps",
)
"""`offset` and `size` are bytes; `live_ranges` are half-open, as "0-3 5-9"; `overlaps` are
buffers of which it takes so many bytes while both are live, as "x:64 y:16"."""


_FORMULA = ("=", "+", "-", "@")
"""What formulas begin with; an apostrophe before it makes it text."""


def plan_json(memory: Mapping[str, Any]) -> str:
    """What metadata.json of an archive has under "memory", as text."""
    return json.dumps(memory, indent=2) + "\n"


def plan_csv(memory: Mapping[str, Any]) -> str:
    """A header and a row for every buffer, in the order of the pools and of the plan."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for pool in memory["pools"]:
        for buffer in pool["buffers"]:
            writer.writerow(_row(pool, buffer))
    return text.getvalue()


def _row(pool: Mapping[str, Any], buffer: Mapping[str, Any]) -> list[Any]:
    return [
        _cell(pool["name"]),
        pool["kind"],
        _cell(buffer["name"]),
        buffer["kind"],
        _cell(buffer["function"]),
        buffer["offset"],
        buffer["size"],
        " ".join(f"{start}-{stop}" for start, stop in buffer["live_ranges"]),
        _cell(
            " ".join(f"{name}:{overlap['shared']}" for name, overlap in buffer["overlaps"].items())
        ),
    ]


def _cell(text: str) -> str:
    """A name as a cell, which no terminal takes for a command and no spreadsheet for a formula."""
    plain = printable(text)
    return f"'{plain}" if plain.startswith(_FORMULA) else plain
