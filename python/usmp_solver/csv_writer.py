"""The plan as MiniMalloc writes it: the columns of the input, and the offset of every buffer."""

from __future__ import annotations

import csv
import io

from usmp_solver.csv_reader import CsvProblem
from usmp_solver.solution import Solution


def write_csv(table: CsvProblem, solution: Solution) -> str:
    """The input with the column `offset`, and `pool` where there is more than one to choose from.

    Read again, the file is the same problem with every buffer pinned to its offset.
    """
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
    """The lines of a plain file as they are, each with its offset: a file may have millions."""
    header, *lines = table.data.decode("utf-8-sig").replace("\r\n", "\n").split("\n")
    offsets = solution.offsets.tolist()
    rows = zip(lines, offsets, strict=False)
    return "".join([f"{header},offset\n", *(f"{line},{offset}\n" for line, offset in rows)])


def _rows(table: CsvProblem) -> list[list[str]]:
    """The rows of the input, without its header and empty lines."""
    text = table.data.decode("utf-8-sig")
    rows = [row for row in csv.reader(io.StringIO(text, newline="")) if any(map(str.strip, row))]
    return [[cell.strip() for cell in row] for row in rows[1:]]
