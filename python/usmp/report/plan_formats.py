"""The memory plan for other programs: JSON as in metadata.json, and CSV with a row for a buffer."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from typing import Any

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
        pool["name"],
        pool["kind"],
        *(buffer[column] for column in ("name", "kind", "function", "offset", "size")),
        " ".join(f"{start}-{stop}" for start, stop in buffer["live_ranges"]),
        " ".join(f"{name}:{overlap['shared']}" for name, overlap in buffer["overlaps"].items()),
    ]
