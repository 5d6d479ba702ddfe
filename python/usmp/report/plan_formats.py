"""The memory plan for other programs: JSON as in metadata.json, and CSV with a row for a buffer."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from usmp.support.model_operators import name
from usmp.support.plain_text import printable, shown

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
"""`offset` and `size` are bytes; `live_ranges` are half-open, as "0-3 5-9"; `overlaps` are
buffers of which it takes so many bytes while both are live, as "x:64 y:16"; `entries` are those in
which it is live, as "encode step", and of a state those that use it; `written_by` and `read_by` are
the operators of the model that may do so, as "1 CONV_2D; 4 ADD", with several entries as "1 CONV_2D
in encode"."""


_FORMULA = ("=", "+", "-", "@")
"""What formulas begin with; an apostrophe before it makes it text."""


def plan_json(memory: Mapping[str, Any]) -> str:
    """What metadata.json of an archive has under "memory", as text."""
    return json.dumps(memory, indent=2) + "\n"


def plan_csv(metadata: Mapping[str, Any]) -> str:
    """A header and a row for every buffer, in the order of the pools and of the plan.

    Parameters
    ----------
    metadata
        of one module of an archive.
    """
    memory = metadata["memory"]
    written, read = (_users(metadata, what) for what in ("written", "read"))
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


def _users(metadata: Mapping[str, Any], what: str) -> dict[str, list[str]]:
    """Buffer -> the operators of the model that read or write it."""
    table = metadata.get("model_operators", [])
    several = has_several_entries(metadata)
    users: dict[str, dict[str, None]] = {}
    for operator in metadata.get("operators", []):
        where = f" in {shown(operator['entry'])}" if several else ""
        names = [f"{name(table[n])}{where}" for n in operator.get("model_operators", [])]
        for buffer in operator.get("buffers", {}).get(what, []):
            users.setdefault(buffer, {}).update(dict.fromkeys(names))
    return {buffer: list(names) for buffer, names in users.items()}


def has_several_entries(metadata: Mapping[str, Any]) -> bool:
    """Whether an application calls more than one function of a module, so that what belongs to one
    has to say so."""
    return len(metadata["memory"]["functions"]["main"]) > 1


def entries_of(buffer: Mapping[str, Any], mains: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names of the entries in which the content of a buffer matters."""
    if len(mains) == 1:
        return [mains[0].get("entry", "main")]
    if buffer["kind"] == "state":
        return [main["entry"] for main in mains if buffer["name"] in main["states"]]
    return [
        main["entry"]
        for main in mains
        if any(_meet(live, main["positions"]) for live in buffer["live_ranges"])
    ]


def _meet(one: Sequence[int], other: Sequence[int]) -> bool:
    """Whether two half-open ranges have a position in common."""
    return max(one[0], other[0]) < min(one[1], other[1])


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
    """A name as a cell, which no terminal takes for a command and no spreadsheet for a formula."""
    plain = printable(text)
    return f"'{plain}" if plain.startswith(_FORMULA) else plain
