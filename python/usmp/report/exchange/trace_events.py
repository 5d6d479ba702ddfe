"""Export a plan as trace events, for Perfetto (ui.perfetto.dev) and other trace viewers.

The format is that of Chrome's traces: https://perfetto.dev/docs/getting-started/other-formats. A
program position is shown as one microsecond. A pool is a process with a counter of the live bytes,
and with as few threads as the live ranges of its buffers allow. Entries are threads
of a further process, with a slice for each operator.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from heapq import heappop, heappush
from typing import Any

from usmp.report.map_data import Buffer, MemoryMap, Operator, Pool, Range
from usmp.report.read_map_data import map_of_metadata
from usmp.support.model_operators import name
from usmp.support.text.plain_text import printable

Event = dict[str, Any]

_PROGRAM = 1
"""Number of the process with the operators; the pools have the next ones. 0 is the idle process."""


def trace_events(metadata: Mapping[str, Any]) -> bytes:
    """Return the plan in the metadata of one module, as JSON.

    Raises
    ------
    ValueError
        the metadata is damaged.
    """
    plan = map_of_metadata(metadata)
    events = list(_program(plan))
    for process, pool in enumerate(plan.pools, start=_PROGRAM + 1):
        events += _pool(process, pool)
    document = {
        "displayTimeUnit": "ns",
        "otherData": {"model": printable(plan.title), "time": "1 us is a program position"},
        "traceEvents": events,
    }
    return (json.dumps(document, indent=1) + "\n").encode()


def _program(plan: MemoryMap) -> Iterator[Event]:
    if not any(operator.positions for operator in plan.operators):
        return
    yield from _process_name(_PROGRAM, f"operators of {plan.title}")
    threads: dict[str, int] = {}
    for operator in plan.operators:
        if operator.positions is None:
            continue
        if operator.entry not in threads:
            threads[operator.entry] = len(threads) + 1
            yield _metadata(_PROGRAM, "thread_name", operator.entry, threads[operator.entry])
        arguments = _operator_arguments(plan, operator)
        yield _slice(
            _PROGRAM,
            threads[operator.entry],
            operator.function_names,
            "operator",
            operator.positions,
            arguments,
        )


def _operator_arguments(plan: MemoryMap, operator: Operator) -> Event:
    known = {"multiply-accumulates": operator.macs, "instructions": operator.instructions}
    measured = operator.measured
    return {
        "positions": _range(operator.positions),
        **{f"live bytes of {printable(pool)}": size for pool, size in operator.live_bytes.items()},
        **{label: value for label, value in known.items() if value is not None},
        **({} if measured is None else {f"{measured.unit} measured": measured.cost}),
        "buffers": [printable(buffer) for buffer in operator.buffers],
        "model operators": [
            printable(" ".join([name(origin.as_named), *origin.outputs]))
            for origin in plan.origin(operator)
        ],
    }


def _pool(process: int, pool: Pool) -> Iterator[Event]:
    # Import late, because loading NumPy takes longer than printing a table of the plan.
    from usmp_solver.live_bytes import live_bytes_by_position

    kind = "constant" if pool.is_constant else "workspace"
    yield from _process_name(process, f"{pool.name} ({kind}, peak {pool.peak_bytes} bytes)")
    previous = 0
    for position, live in live_bytes_by_position(
        (b.size_bytes, b.live_ranges) for b in pool.buffers
    ).items():
        if live == previous:
            continue
        previous = live
        yield {
            "ph": "C",
            "pid": process,
            "name": "live bytes",
            "ts": position,
            "args": {"bytes": live},
        }
    named_rows: set[int] = set()
    for row, buffer, live_range in _rows(pool):
        if row not in named_rows:
            named_rows.add(row)
            yield _metadata(process, "thread_name", f"buffers {row}", row)
        arguments = {
            "bytes": buffer.size_bytes,
            "offset": buffer.offset_bytes,
            "end": buffer.end_bytes,
            "live range": _range(live_range),
            "function": printable(buffer.function),
            "shares bytes with": {
                printable(other.name): other.shared_bytes for other in buffer.overlaps
            },
        }
        yield _slice(process, row, buffer.name, buffer.kind, live_range, arguments)


def _rows(pool: Pool) -> Iterator[tuple[int, Buffer, Range]]:
    """Assign each live range to the lowest row in which no other buffer is live at that time."""
    ranges = [(live, buffer) for buffer in pool.buffers for live in buffer.live_ranges]
    ranges.sort(key=lambda item: (item[0][0], item[1].offset_bytes, item[1].name))
    unused_rows: list[int] = []
    used_rows: list[tuple[int, int]] = []
    count = 0
    for live, buffer in ranges:
        while used_rows and used_rows[0][0] <= live[0]:
            heappush(unused_rows, heappop(used_rows)[1])
        if not unused_rows:
            count += 1
            heappush(unused_rows, count)
        row = heappop(unused_rows)
        heappush(used_rows, (live[1], row))
        yield row, buffer, live


def _process_name(process: int, name: str) -> Iterator[Event]:
    yield _metadata(process, "process_name", name)
    yield {
        "ph": "M",
        "pid": process,
        "name": "process_sort_index",
        "args": {"sort_index": process},
    }


def _metadata(process: int, event: str, name: str, thread: int = 0) -> Event:
    return {
        "ph": "M",
        "pid": process,
        "tid": thread,
        "name": event,
        "args": {"name": printable(name)},
    }


def _slice(
    process: int, thread: int, name: str, kind: str, positions: Range, arguments: Event
) -> Event:
    start, stop = positions
    return {
        "ph": "X",
        "pid": process,
        "tid": thread,
        "name": printable(name),
        "cat": printable(kind),
        "ts": start,
        "dur": stop - start,
        "args": arguments,
    }


def _range(positions: Range | None) -> str:
    return "" if positions is None else f"{positions[0]}-{positions[1]}"
