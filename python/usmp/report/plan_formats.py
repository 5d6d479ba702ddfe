"""The memory plan for other programs: as JSON of metadata.json, and as CSV of buffers."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from usmp.support.model_operators import name
from usmp.support.text.plain_text import printable, shown

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
    "entries",
    "written_by",
    "read_by",
)
"""Columns of the CSV.

`offset` and `size` are bytes. `live_ranges` are half-open, as "0-3 5-9". `overlaps` has the bytes
shared with other live buffers, as "x:64 y:16". `entries` are those in which the buffer is live, as
"encode step"; for a state, the entries that use it. `written_by` and `read_by` are the model's
operators that may write or read it: "1 CONV_2D; 4 ADD", or for several entries "2 ADD in encode".
"""

_FORMULA = ("=", "+", "-", "@")
"""First characters of formulas. An apostrophe before them makes a cell text."""


def plan_json(memory: Mapping[str, Any]) -> str:
    """Return the value of "memory" in metadata.json of an archive, as text."""
    return json.dumps(memory, indent=2) + "\n"


def plan_csv(metadata: Mapping[str, Any]) -> str:
    """Return CSV with a header and a row for every buffer, in the order of pools and plan.

    Parameters
    ----------
    metadata
        metadata of one module of an archive.
    """
    memory = metadata["memory"]
    written, read = (_users(metadata, use) for use in ("written", "read"))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    mains = memory["functions"]["main"]
    for pool in memory["pools"]:
        for buffer in pool["buffers"]:
            entries = " ".join(entries_of(buffer, mains))
            users = ("; ".join(users.get(buffer["name"], ())) for users in (written, read))
            writer.writerow([*_row(pool, buffer), name_cell(entries), *map(name_cell, users)])
    return text.getvalue()


def _users(metadata: Mapping[str, Any], use: str) -> dict[str, list[str]]:
    """Return the names of the model's operators that read or write a buffer, by buffer."""
    table = metadata.get("model_operators", [])
    several = has_several_entries(metadata)
    users: dict[str, dict[str, None]] = {}
    for operator in metadata.get("operators", []):
        where = f" in {shown(operator['entry'])}" if several else ""
        names = [f"{name(table[n])}{where}" for n in operator.get("model_operators", [])]
        for buffer in operator.get("buffers", {}).get(use, []):
            users.setdefault(buffer, {}).update(dict.fromkeys(names))
    return {buffer: list(names) for buffer, names in users.items()}


def has_several_entries(metadata: Mapping[str, Any]) -> bool:
    """Return whether a module has several entries, so that texts must name the entry."""
    return len(metadata["memory"]["functions"]["main"]) > 1


def entries_of(buffer: Mapping[str, Any], mains: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of the entries in which a buffer is live, or that use it as a state."""
    if len(mains) == 1:
        return [mains[0].get("entry", "main")]
    if buffer["kind"] == "state":
        return [main["entry"] for main in mains if buffer["name"] in main["states"]]
    return [
        main["entry"] for main in mains if common_ranges(buffer["live_ranges"], [main["positions"]])
    ]


def common_ranges(
    one: Iterable[Sequence[int]], other: Sequence[Sequence[int]]
) -> list[tuple[int, int]]:
    """Return the intersections of two lists of half-open ranges."""
    pairs = ((max(a, c), min(b, d)) for a, b in one for c, d in other)
    return [(start, stop) for start, stop in pairs if start < stop]


def _row(pool: Mapping[str, Any], buffer: Mapping[str, Any]) -> list[Any]:
    return [
        name_cell(pool["name"]),
        pool["kind"],
        name_cell(buffer["name"]),
        buffer["kind"],
        name_cell(buffer["function"]),
        buffer["offset"],
        buffer["size"],
        " ".join(f"{start}-{stop}" for start, stop in buffer["live_ranges"]),
        name_cell(
            " ".join(f"{name}:{overlap['shared']}" for name, overlap in buffer["overlaps"].items())
        ),
    ]


def name_cell(text: str) -> str:
    """Return a name that a terminal prints as text, and a spreadsheet does not run as a formula."""
    plain = printable(text)
    return f"'{plain}" if plain.startswith(_FORMULA) else plain
