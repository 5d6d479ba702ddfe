"""CSV files with MiniMalloc's columns and a few more.

The format is defined by `src/converter.cc` of google/minimalloc.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from usmp_solver.columns import INT64_MAX, Column, column, first_of
from usmp_solver.formats.csv_cells import Cells, CsvError, read_cells
from usmp_solver.formats.csv_gaps import Lifespan, live_ranges
from usmp_solver.formats.csv_problem import CsvProblem, Times, check, check_ids, csv_problem


def read_csv(
    path: str | os.PathLike[str], capacity: int | Mapping[str, int] | None = None
) -> CsvProblem:
    """Read a file with the columns id, lower, upper, size and the others in docs/solver.md.

    Parameters
    ----------
    path
        the file.
    capacity
        size of the only pool, or of each pool by name, in bytes; None for no limit.

    Raises
    ------
    ValueError
        The file is malformed; the message names line and buffer.
    """
    return parse_csv(os.fspath(path), Path(path).read_bytes(), capacity)


def parse_csv(
    file: str, data: bytes, capacity: int | Mapping[str, int] | None = None
) -> CsvProblem:
    """Return the problem in the file.

    Parameters
    ----------
    file
        name of the file, for messages.
    data
        content of the file.
    capacity
        size of the only pool, or of each pool by name, in bytes, the most preferred first; None for
        no limit.

    Raises
    ------
    ValueError
        The file is malformed, or the capacity does not match it. The message names file, line and
        buffer.
    """
    cells = read_cells(file, data)
    check_ids(file, cells)
    lower, upper = cells.numbers["lower"], _upper(file, cells)
    check(file, cells, lower >= upper, "it lives from {} to {}, which is no time", lower, upper)
    return csv_problem(file, data, cells, _times(file, cells, lower, upper), capacity)


def _upper(file: str, cells: Cells) -> Column:
    """Return the exclusive ends of the live ranges."""
    upper = cells.numbers["upper"]
    if not cells.end_is_inclusive:
        return upper
    check(file, cells, upper == INT64_MAX, "its end, {}, is too large", upper)
    return upper + 1


def _times(file: str, cells: Cells, lower: Column, upper: Column) -> Times:
    gaps = cells.texts.get("gaps", [])
    if not any(gaps):
        return Times(np.arange(len(lower) + 1), lower, upper, column(), column())
    ranges = []
    numbers = (lower.tolist(), upper.tolist(), cells.numbers["size"].tolist())
    for row, life in enumerate(map(Lifespan, *numbers)):
        try:
            ranges.append(live_ranges(gaps[row], life, cells.end_is_inclusive))
        except ValueError as error:
            raise CsvError(
                file, int(cells.lines[row]), cells.texts["id"][row], str(error)
            ) from None
    return Times(
        first_of(ranges),
        column([start for live in ranges for start, _ in live]),
        column([stop for live in ranges for _, stop in live]),
        column(),
        column(),
    )
