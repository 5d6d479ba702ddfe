"""The memory map as CSV: a row for each buffer, with the operators that write and read it."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from usmp.report.memory_maps.document import MemoryMap
from usmp.report.memory_maps.from_metadata import map_of_metadata
from usmp.report.plan_formats import CSV_COLUMNS, csv_cell, plan_rows

MAP_COLUMNS = (*CSV_COLUMNS, "written_by", "read_by")
"""Those of the plan, then operators as "0:CONV_2D 1:ADD", by their positions in the program."""


def map_csv(metadata: Mapping[str, Any]) -> str:
    """A header and a row for every buffer, in the order of the plan's CSV.

    Raises
    ------
    ValueError
        the metadata is damaged.
    """
    drawn = map_of_metadata(metadata)
    buffers = {(pool.name, b.name): b for pool in drawn.pools for b in pool.buffers}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(MAP_COLUMNS)
    for pool, name, row in plan_rows(metadata["memory"]):
        buffer = buffers[pool, name]
        operators = [_operators(drawn, side) for side in (buffer.written_by, buffer.read_by)]
        writer.writerow([*row, *operators])
    return text.getvalue()


def _operators(drawn: MemoryMap, indices: Sequence[int]) -> str:
    labels = [f"{index}:{drawn.operators[index].label.replace(' ', '')}" for index in indices]
    return csv_cell(" ".join(labels))
