"""Conversion of CSV cells to a problem, common to all formats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from usmp_solver.buffers import DEFAULT_POOL, Pool, preferred_first
from usmp_solver.check import find_fault
from usmp_solver.columns import INT64_MAX, Column, column, first_of
from usmp_solver.formats.csv_cells import NO_OFFSET, Cells, CsvError
from usmp_solver.formats.pool_limits import pool_limits
from usmp_solver.problem import Problem
from usmp_solver.validate import check_numbers

_SEPARATOR = "|"
_MOST_CANDIDATES = 10_000_000
"""Most pairs of a buffer and a candidate pool; each takes 64 bits."""


@dataclass(frozen=True)
class Times:
    """Live ranges, and conflicts beyond them: columns as in `Problem`."""

    live_first: Column
    live_starts: Column
    live_stops: Column
    conflict_firsts: Column
    conflict_seconds: Column


@dataclass(frozen=True)
class CsvProblem:
    """A problem, and the file that it comes from.

    Parameters
    ----------
    file
        name of the file, for messages.
    data
        content of the file.
    cells
        parsed cells.
    problem
        the problem that they describe.
    preamble
        text of the file before `data`.
    """

    file: str
    data: bytes
    cells: Cells
    problem: Problem
    preamble: str = ""

    def where(self, buffer: int) -> str:
        """Return the position of the buffer in the file, such as "line 2"."""
        return f"line {self.cells.lines[buffer]}"


def csv_problem(
    file: str,
    data: bytes,
    cells: Cells,
    times: Times,
    capacity: int | Mapping[str, int] | None,
    preamble: str = "",
) -> CsvProblem:
    """Return the problem that the cells describe.

    Raises
    ------
    ValueError
        Two buffers have one id, a number is out of range, or the capacity does not match the file.
        The message names file, line and buffer.
    """
    ids, size = cells.texts["id"], cells.numbers["size"]
    alignment = cells.numbers.get("alignment", np.ones(len(ids), np.int64))
    offset = _offsets(file, cells)
    check_numbers(partial(check, file, cells), size, alignment, offset)
    pools, candidate_first, candidates = _pools(file, cells, capacity)
    problem = Problem(
        names=ids,
        pools=pools,
        sizes=size,
        alignments=alignment,
        fixed_offsets=offset,
        candidate_first=candidate_first,
        candidates=candidates,
        **vars(times),
    )
    table = CsvProblem(file, data, cells, problem, preamble)
    _check_capacity(table)
    _check_pins(table)
    return table


def check(file: str, cells: Cells, wrong: NDArray[np.bool_], words: str, *numbers: Column) -> None:
    """Raise CsvError for the first row that is wrong."""
    if wrong.any():
        row = int(np.argmax(wrong))
        text = words.format(*(int(values[row]) for values in numbers))
        raise CsvError(file, int(cells.lines[row]), cells.texts["id"][row], text)


def check_ids(file: str, cells: Cells) -> None:
    ids = cells.texts["id"]
    if len(set(ids)) == len(ids) and "" not in ids:
        return
    first: dict[str, int] = {}
    for line, name in zip(cells.lines.tolist(), ids, strict=True):
        if not name:
            raise CsvError(file, line, None, "the buffer has no id")
        if first.setdefault(name, line) != line:
            raise CsvError(
                file, line, name, f"line {first[name]} has the same id; give each its own"
            )


def _offsets(file: str, cells: Cells) -> Column:
    """Return the pinned offset of each buffer; -1 for a buffer without a pin."""
    if "offset" not in cells.numbers:
        return np.full(len(cells.lines), -1, np.int64)
    offset = cells.numbers["offset"]
    is_pinned = offset != NO_OFFSET
    check(
        file,
        cells,
        is_pinned & (offset < 0),
        "it is pinned to the offset {}; leave the cell empty if any offset will do",
        offset,
    )
    return np.where(is_pinned, offset, -1)


def _pools(
    file: str, cells: Cells, capacity: int | Mapping[str, int] | None
) -> tuple[tuple[Pool, ...], Column, Column]:
    """Return the pools, and the candidate columns of the problem."""
    texts = cells.texts.get("pool", [])
    named = {text: _names(text) for text in dict.fromkeys(texts)}
    for text, of_text in named.items():
        if "" in of_text:
            row = texts.index(text)
            words = f'pool is "{text}"; write the pools that may hold it as sram{_SEPARATOR}flash'
            raise CsvError(file, int(cells.lines[row]), cells.texts["id"][row], words)
    in_file = preferred_first(named.values())
    limits = pool_limits(file, in_file, capacity)
    may_be_anywhere = not texts or "" in named
    has_all_limits = limits.keys() >= set(in_file)
    for name in limits:
        if name not in in_file and not may_be_anywhere and not has_all_limits:
            raise ValueError(
                f'{file}: no buffer may be in the pool "{name}" that a capacity is given for; '
                f"pools of the file: {', '.join(in_file)}"
            )
    names = list(dict.fromkeys([*limits, *in_file])) or [DEFAULT_POOL.name]
    pools = tuple(Pool(name, limits.get(name)) for name in names)
    everywhere = list(range(len(names)))
    numbers = {name: number for number, name in enumerate(names)}
    of_texts = {
        text: [numbers[name] for name in of_text] or everywhere for text, of_text in named.items()
    }
    _check_candidates(file, cells, texts, of_texts, len(names))
    if may_be_anywhere and len(of_texts) <= 1:
        count = len(cells.lines)
        first = np.arange(count + 1, dtype=np.int64) * len(names)
        return pools, first, np.tile(np.array(everywhere, np.int64), count)
    lists = [of_texts[text] for text in texts]
    return pools, first_of(lists), column(list(chain.from_iterable(lists)))


def _check_candidates(
    file: str, cells: Cells, texts: list[str], of_texts: Mapping[str, list[int]], pools: int
) -> None:
    """Refuse too many pairs of buffer and pool: an empty cell means all pools."""
    rows = len(cells.lines)
    count = sum(len(of_texts[text]) for text in texts) if texts else rows * pools
    if count > _MOST_CANDIDATES:
        words = (
            f"{rows} buffers may be in {count} places, counting each pool that may hold each; at "
            f"most {_MOST_CANDIDATES} are read; name fewer pools for each buffer"
        )
        raise CsvError(file, None, None, words)


def _names(text: str) -> list[str]:
    """Return the pools that a cell names."""
    return list(dict.fromkeys(map(str.strip, text.split(_SEPARATOR)))) if text else []


def _check_capacity(table: CsvProblem) -> None:
    """Refuse a buffer that exceeds all of its pools."""
    problem = table.problem
    limits = np.array(
        [INT64_MAX if pool.limit is None else pool.limit for pool in problem.pools], np.int64
    )
    largest = np.maximum.reduceat(limits[problem.candidates], problem.candidate_first[:-1])
    end = problem.sizes + np.maximum(problem.fixed_offsets, 0)
    wrong = end > largest
    if not wrong.any():
        return
    row = int(np.argmax(np.where(wrong, end, -1)))
    pin = int(problem.fixed_offsets[row])
    where = "" if pin < 0 else f", pinned to the offset {pin},"
    raise CsvError(
        table.file,
        int(table.cells.lines[row]),
        problem.names[row],
        f"its {problem.sizes[row]} bytes{where} do not fit into a capacity of {largest[row]}; "
        f"a capacity of at least {end[row]} is needed for this buffer alone",
    )


def _check_pins(table: CsvProblem) -> None:
    """Refuse two buffers whose pins collide."""
    problem = table.problem
    candidates = np.diff(problem.candidate_first)
    pinned = np.flatnonzero((problem.fixed_offsets >= 0) & (candidates == 1))
    if len(pinned) < 2:
        return
    ranges = np.diff(problem.live_first)
    of_pinned = np.repeat(np.isin(np.arange(len(problem)), pinned), ranges)
    pools = problem.candidates[problem.candidate_first[pinned]]
    of_two = np.isin(problem.conflict_firsts, pinned) & np.isin(problem.conflict_seconds, pinned)
    only = Problem(
        names=[""] * len(pinned),
        pools=problem.pools,
        sizes=problem.sizes[pinned],
        fixed_offsets=problem.fixed_offsets[pinned],
        candidate_first=np.arange(len(pinned) + 1),
        candidates=pools,
        live_first=np.concatenate([[0], np.cumsum(ranges[pinned])]),
        live_starts=problem.live_starts[of_pinned],
        live_stops=problem.live_stops[of_pinned],
        conflict_firsts=np.searchsorted(pinned, problem.conflict_firsts[of_two]),
        conflict_seconds=np.searchsorted(pinned, problem.conflict_seconds[of_two]),
    )
    fault = find_fault(only, only.fixed_offsets, pools)
    if fault is None:
        return
    first, second = sorted(int(pinned[buffer]) for buffer in (fault.first, fault.second))
    bytes_of = [
        f"bytes {problem.fixed_offsets[b]} to {problem.fixed_offsets[b] + problem.sizes[b]}"
        for b in (first, second)
    ]
    raise CsvError(
        table.file,
        int(table.cells.lines[second]),
        problem.names[second],
        f'it is pinned to {bytes_of[1]}, and buffer "{problem.names[first]}" of line '
        f"{table.cells.lines[first]} to {bytes_of[0]}, but both are live at one time; change or "
        "empty one of the offsets",
    )
