"""The exchange formats, by the endings of file names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

from usmp.report.exchange.c_info import c_info
from usmp.report.exchange.memory_snapshot import memory_snapshot
from usmp.report.exchange.node_data import VALUES, node_data
from usmp.report.exchange.trace_events import trace_events

Writer: TypeAlias = Callable[[Mapping[str, Any]], bytes]
"""Converts the metadata of one module to a file; raises `ValueError` if the metadata is damaged."""

FORMATS: dict[str, Writer] = {
    ".perfetto.json": trace_events,
    ".pickle": memory_snapshot,
    "_c_info.json": c_info,
    **{f".{name}.node_data.json": partial(node_data, value=name) for name in VALUES},
}
"""Writers by the endings of file names."""


def writer_of(path: str) -> Writer | None:
    """Return the writer for a file name, or None if its ending is unknown."""
    return next((write for end, write in FORMATS.items() if path.lower().endswith(end)), None)
