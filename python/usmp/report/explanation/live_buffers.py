"""The buffers at the peak of a pool, and why they are live, from the metadata alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from usmp.report.explanation.operators import joined, operator_at, operator_label, users
from usmp.report.plan_formats import common_ranges, has_several_entries
from usmp.support.text.plain_text import shown

LiveInterval: TypeAlias = tuple[int, int]
"""A half-open interval of program positions."""

_MOST_READERS = 3
"""Most operators that a sentence names."""


def live_at_peak(pool: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the buffers that are live at the peak, the largest first."""
    live = set(pool["live_at_peak"])
    buffers = [buffer for buffer in pool["buffers"] if buffer["name"] in live]
    return sorted(buffers, key=lambda buffer: (-buffer["size"], buffer["name"]))


def peak_intervals(pool: Mapping[str, Any]) -> list[LiveInterval]:
    """Return the intervals of positions in which all buffers of the peak are live."""
    intervals: list[LiveInterval] | None = None
    for buffer in live_at_peak(pool):
        ranges = [(start, stop) for start, stop in buffer["live_ranges"]]
        intervals = ranges if intervals is None else common_ranges(intervals, ranges)
    return intervals or []


def operator_at_peak(module: Mapping[str, Any], pool: Mapping[str, Any]) -> int | None:
    """Return the index of the statement at the peak of a pool, or None if it is unknown."""
    index = operator_at(module, peak_intervals(pool))
    # Several entries may have no single operator at the peak, as one entry may interrupt another.
    if index is None and not has_several_entries(module) and pool.get("peak_operator") is not None:
        return int(pool["peak_operator"])
    return index


def described_buffer(
    module: Mapping[str, Any], buffer: Mapping[str, Any], at: int | None
) -> dict[str, Any]:
    """Describe a buffer that is live at the peak, with its writers, readers and reason.

    Parameters
    ----------
    at
        index of the statement at the peak in `operators`; None if it is unknown.
    """
    writers, readers = (users(module, buffer["name"], use) for use in ("written", "read"))
    later = [r for r in readers if at is None or r > at]
    earlier = [w for w in writers if at is None or w < at]
    return {
        "name": buffer["name"],
        "kind": _kind(module, buffer),
        "offset": buffer["offset"],
        "size_bytes": buffer["size"],
        "written_by": [operator_label(module, w) for w in writers],
        "read_later_by": [operator_label(module, r) for r in later],
        "why": _why(module, buffer, at, earlier, readers, later),
    }


def unused_bytes(pool: Mapping[str, Any]) -> dict[str, int]:
    """Return the unused bytes below the peak: padding for alignment, and other gaps."""
    end = alignment = other = 0
    for buffer in sorted(live_at_peak(pool), key=lambda buffer: buffer["offset"]):
        gap = max(0, buffer["offset"] - end)
        padding = min(gap, -end % max(1, buffer["alignment"]))
        alignment, other = alignment + padding, other + gap - padding
        end = max(end, buffer["offset"] + buffer["size"])
    return {"alignment": alignment, "other": other + max(0, pool["peak_bytes"] - end)}


def _kind(module: Mapping[str, Any], buffer: Mapping[str, Any]) -> str:
    """Return the kind of a buffer. Buffers inside of operators are scratch memory."""
    if buffer["kind"] == "intermediate" and _is_inside(module, buffer):
        return "scratch"
    return str(buffer["kind"])


def _is_inside(module: Mapping[str, Any], buffer: Mapping[str, Any]) -> bool:
    names = {f["function_name"] for f in module["memory"]["functions"]["operator_functions"]}
    return buffer["function"] in names


def _why(
    module: Mapping[str, Any],
    buffer: Mapping[str, Any],
    at: int | None,
    earlier: Sequence[int],
    readers: Sequence[int],
    later: Sequence[int],
) -> str:
    kind = _kind(module, buffer)
    if kind == "state":
        return _why_state(module, buffer)
    if kind == "output":
        return "output: the application reads it after the run"
    if kind == "scratch":
        return _why_inside(module, buffer)
    uses = []
    if at is not None and at in readers:
        uses.append("read here")
    if later:
        uses.append(f"still read by {_named(module, later)}")
    if kind == "input":
        if not uses and _last_stop(buffer) > max(
            stop for _, stop in _intervals_of(module, readers)
        ):
            uses.append("kept for the application (preserve_inputs)")
        return f"input: {'; '.join(uses) or 'given before the run'}"
    if at is not None and at in users(module, buffer["name"], "written"):
        uses.insert(0, "written here")
    elif earlier:
        uses.insert(0, f"written by {_named(module, earlier[-1:])}")
    return "; ".join(uses) or "which operators use it is not said"


def _why_state(module: Mapping[str, Any], buffer: Mapping[str, Any]) -> str:
    window = module.get("windows", {}).get("states", {}).get(buffer["name"])
    if window is None:
        return "state: kept between runs"
    rows = "1 row" if window["rows"] == 1 else f"{window['rows']} rows"
    return f"state: {rows} of {shown(window['tensor'])}, kept for the next run"


def _why_inside(module: Mapping[str, Any], buffer: Mapping[str, Any]) -> str:
    segments = [
        segment
        for operator in module.get("operators", ())
        if buffer["function"] in operator.get("functions", ())
        for segment in operator.get("segments", ())
    ]
    for segment in segments:
        if str(buffer["name"]).endswith("_ring"):
            return f"ring: the {shown(segment.get('by', 'rows'), 20)} between interleaved operators"
    return "scratch memory of the operator"


def _intervals_of(module: Mapping[str, Any], operators: Sequence[int]) -> list[LiveInterval]:
    selected = [module["operators"][n] for n in operators]
    return [(o["start"], o["stop"]) for o in selected if "start" in o and "stop" in o] or [
        (0, 1 << 62)
    ]


def _last_stop(buffer: Mapping[str, Any]) -> int:
    return max((int(stop) for _, stop in buffer["live_ranges"]), default=0)


def _named(module: Mapping[str, Any], operators: Sequence[int]) -> str:
    labels = [operator_label(module, n) for n in operators[:_MOST_READERS]]
    more = len(operators) - len(labels)
    return joined([*labels, *([f"{more} others"] if more else [])])
