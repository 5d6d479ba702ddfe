"""Writing of plans like MiniMalloc: the columns of the input, and the offset of every buffer."""

from __future__ import annotations

import csv
import io

import numpy as np

from usmp_solver.columns import Column
from usmp_solver.formats.csv_problem import CsvProblem
from usmp_solver.formats.pytorch import PytorchProblem
from usmp_solver.problem import Problem
from usmp_solver.solution import Solution


def write_csv(given: CsvProblem | PytorchProblem | Problem, solution: Solution) -> str:
    """Return the input with the column `offset`, and `pool` if there are several pools.

    The output is a problem in which every buffer is pinned to its offset.

    Parameters
    ----------
    given
        a CSV file, which keeps its columns; a recording of PyTorch; or any other problem.
    solution
        its plan.

    Raises
    ------
    ValueError
        The problem is no CSV file and has conflicts or overlaps beyond live ranges, or a buffer
        that is never live: a CSV has no columns for these.
    """
    if isinstance(given, CsvProblem):
        return given.preamble + _csv_of_file(given, solution)
    return _csv_of_problem(given if isinstance(given, Problem) else given.problem, solution)


def _csv_of_file(table: CsvProblem, solution: Solution) -> str:
    header, meanings = list(table.cells.header), list(table.cells.meanings)
    names = [pool.name for pool in table.problem.pools]
    added = ["pool"] if len(names) > 1 or "pool" in meanings else []
    for meaning in (*added, "offset"):
        if meaning not in meanings:
            header.append(meaning)
            meanings.append(meaning)
    if table.cells.is_plain and not added and len(header) == len(table.cells.header) + 1:
        return _with_offsets(table, solution)
    offset_at = meanings.index("offset")
    pool_at = meanings.index("pool") if added else None
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(name.strip() for name in header)
    placements = zip(solution.offsets.tolist(), solution.pools.tolist(), strict=True)
    for row, (offset, pool) in zip(_rows(table), placements, strict=True):
        cells = [*row, *[""] * (len(header) - len(row))]
        cells[offset_at] = str(offset)
        if pool_at is not None:
            cells[pool_at] = names[pool]
        writer.writerow(cells)
    return text.getvalue()


def _with_offsets(table: CsvProblem, solution: Solution) -> str:
    """Append the offsets to the lines of a plain file, which may have millions."""
    header, *lines = table.data.decode("utf-8-sig").replace("\r\n", "\n").split("\n")
    offsets = solution.offsets.tolist()
    rows = zip(lines, offsets, strict=False)
    return "".join([f"{header},offset\n", *(f"{line},{offset}\n" for line, offset in rows)])


def _rows(table: CsvProblem) -> list[list[str]]:
    """Return the rows of the input, without its header and empty lines."""
    text = table.data.decode("utf-8-sig")
    rows = [row for row in csv.reader(io.StringIO(text, newline="")) if any(map(str.strip, row))]
    return [[cell.strip() for cell in row] for row in rows[1:]]


def _csv_of_problem(problem: Problem, solution: Solution) -> str:
    ranges = np.diff(problem.live_first)
    if len(problem.conflict_firsts) or len(problem.overlap_outputs):
        raise ValueError("a CSV has no column for conflicts and overlaps beyond live ranges")
    if (ranges == 0).any():
        name = problem.names[int(np.argmin(ranges))]
        raise ValueError(f'buffer "{name}" is never live; a CSV has no row for it')
    lower = np.minimum.reduceat(problem.live_starts, problem.live_first[:-1])
    upper = np.maximum.reduceat(problem.live_stops, problem.live_first[:-1])
    columns: dict[str, list[int] | list[str]] = {
        "id": list(problem.names),
        "lower": lower.tolist(),
        "upper": upper.tolist(),
        "size": problem.sizes.tolist(),
    }
    if (problem.alignments > 1).any():
        columns["alignment"] = problem.alignments.tolist()
    if (ranges > 1).any():
        columns["gaps"] = [_gaps(problem, buffer) for buffer in range(len(problem))]
    if len(problem.pools) > 1:
        columns["pool"] = [problem.pools[pool].name for pool in solution.pools.tolist()]
    columns["offset"] = solution.offsets.tolist()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def _gaps(problem: Problem, buffer: int) -> str:
    """Return the gaps between the live ranges of the buffer, such as "3-5 7-9"."""
    of_buffer = slice(problem.live_first[buffer], problem.live_first[buffer + 1])
    starts: Column = problem.live_starts[of_buffer]
    order = np.argsort(starts)
    starts, stops = starts[order], np.maximum.accumulate(problem.live_stops[of_buffer][order])
    pairs = zip(stops[:-1].tolist(), starts[1:].tolist(), strict=True)
    return " ".join(f"{stop}-{start}" for stop, start in pairs if stop < start)
