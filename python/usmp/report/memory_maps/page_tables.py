"""The tables of the page, which work without scripts: pools, entries, buffers, operators."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from usmp.report.map_data import Buffer, Measured, MemoryMap, Operator, Pool
from usmp.report.offline_pages.table import LISTS, NAMES, NUMBERS, WORDS, name_html, table_html
from usmp.support.text.plain_text import shown

_LONGEST_HEADING = 40
"""Most characters of the name of a pool in a heading."""

_MEASURED = {
    "ns": "Time measured (ns)",
    "instructions": "Instructions measured",
    "cycles": "Clock cycles measured",
}
"""Headings of measured costs, by unit."""


def pools_table(drawn: MemoryMap) -> str:
    """Return the table of pools, with peak, lower bound and limit."""
    has_operator = any(pool.peak_operator is not None for pool in drawn.pools)
    headings = [
        ("Pool", NAMES),
        ("Kind", WORDS),
        ("Peak bytes", NUMBERS),
        ("Lower bound", NUMBERS),
        ("Optimal", WORDS),
        ("Limit", NUMBERS),
        ("Most live bytes", NUMBERS),
        *([("Operator at the peak", LISTS)] if has_operator else []),
    ]
    rows = [
        (
            "",
            [
                name_html(pool.name),
                pool.kind,
                pool.peak_bytes,
                pool.lower_bound_bytes,
                "yes" if pool.is_optimal else "unknown",
                "none" if pool.limit_bytes is None else pool.limit_bytes,
                pool.memory_pressure_bytes,
                *([_peak_operator(drawn, pool)] if has_operator else []),
            ],
        )
        for pool in drawn.pools
    ]
    return table_html("", "Memory pools, in bytes", headings, rows, name_column=0)


def entries_table(drawn: MemoryMap) -> str:
    """Return the table of entries, or an empty text for a single entry."""
    if len(drawn.entries) < 2:
        return ""
    headings = [
        ("Entry", NAMES),
        ("Peak bytes", NUMBERS),
        ("Inputs and outputs", NUMBERS),
        ("State", NUMBERS),
        ("Program positions", WORDS),
    ]
    rows = [
        (
            "",
            [
                name_html(entry.name),
                sum(entry.peak_bytes.values()),
                entry.io_bytes,
                entry.state_bytes,
                f"{entry.positions[0]}-{entry.positions[1]}",
            ],
        )
        for entry in drawn.entries
    ]
    return table_html("", "Entries, in bytes", headings, rows, name_column=0)


def buffers_table(drawn: MemoryMap) -> str:
    """Return the table of the buffers of all pools."""
    has_operators = any(b.written_by or b.read_by for pool in drawn.pools for b in pool.buffers)
    headings = [
        ("Name", NAMES),
        ("Pool", NAMES),
        ("Kind", WORDS),
        ("Offset", NUMBERS),
        ("Bytes", NUMBERS),
        ("Live at positions", LISTS),
        ("Overwrites", LISTS),
        *([("Written by", LISTS), ("Read by", LISTS)] if has_operators else []),
    ]
    rows = []
    for p, pool in enumerate(drawn.pools):
        for b, buffer in enumerate(pool.buffers):
            cells: list[object] = [
                name_html(buffer.name),
                name_html(pool.name),
                buffer.kind,
                buffer.offset_bytes,
                buffer.size_bytes,
                ", ".join(f"{start}-{stop}" for start, stop in buffer.live_ranges),
                _overlaps(buffer),
            ]
            if has_operators:
                cells += [_operators(drawn, side) for side in (buffer.written_by, buffer.read_by)]
            rows.append((f' data-pool="{p}" data-id="{b}"', cells))
    caption = f"{len(rows)} buffers; sizes and offsets are bytes"
    return table_html("buffer-table", caption, headings, rows, name_column=0)


def operators_table(drawn: MemoryMap) -> str:
    """Return the table of operators in execution order."""
    if not drawn.operators:
        return "<p>This archive does not say which operators it runs.</p>"
    pools = [p for p in drawn.pools if not p.is_constant and _has_live_bytes(p, drawn.operators)]
    has_weights = any(operator.weights_bytes is not None for operator in drawn.operators)
    units = sorted({o.measured.unit for o in drawn.operators if o.measured is not None})
    headings = [
        ("#", NUMBERS),
        ("Operator", NAMES),
        *([("Entry", NAMES)] if len(drawn.entries) > 1 else []),
        ("Function", LISTS),
        ("MACs", NUMBERS),
        ("Instructions (about)", NUMBERS),
        *((_MEASURED[unit], NUMBERS) for unit in units),
        *([("Weights in bytes", NUMBERS)] if has_weights else []),
        *((f"Live in {shown(pool.name, _LONGEST_HEADING)}", NUMBERS) for pool in pools),
    ]
    rows = []
    for index, operator in enumerate(drawn.operators):
        cells: list[object] = [
            index,
            name_html(operator.label),
            *([name_html(operator.entry)] if len(drawn.entries) > 1 else []),
            ", ".join(map(name_html, operator.functions)),
            _or_empty(operator.macs),
            _or_empty(operator.instructions),
            *(_cost(operator.measured, unit) for unit in units),
            *([_or_empty(operator.weights_bytes)] if has_weights else []),
            *(operator.live_bytes.get(pool.name, 0) for pool in pools),
        ]
        rows.append((f' data-id="{index}"', cells))
    caption = f"{len(rows)} operators, in the order in which they run"
    return table_html("operator-table", caption, headings, rows, name_column=1)


def operator_text(drawn: MemoryMap, index: int) -> str:
    """Return the label of an operator."""
    return shown(drawn.operators[index].label)


def _cost(measured: Measured | None, unit: str) -> str:
    return "" if measured is None or measured.unit != unit else f"{measured.cost:.0f}"


def _peak_operator(drawn: MemoryMap, pool: Pool) -> str:
    if pool.peak_operator is None:
        return ""
    return name_html(operator_text(drawn, pool.peak_operator))


def _overlaps(buffer: Buffer) -> str:
    return ", ".join(f"{o.shared_bytes} of {name_html(o.name)}" for o in buffer.overlaps)


def _operators(drawn: MemoryMap, indices: Iterable[int]) -> str:
    return ", ".join(name_html(operator_text(drawn, index)) for index in indices)


def _has_live_bytes(pool: Pool, operators: Sequence[Operator]) -> bool:
    return any(pool.name in operator.live_bytes for operator in operators)


def _or_empty(number: int | None) -> object:
    return "" if number is None else number
