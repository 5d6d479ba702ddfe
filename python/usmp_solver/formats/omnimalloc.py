"""Problem files of OmniMalloc: CSV files whose times may be vector clocks.

The format is defined by `src/python/omnimalloc/io.py` of fpedd/omnimalloc 1.0. The columns are
those of MiniMalloc, with `kind`, and with `offset` for placed buffers. A line ``# pool_offset=64``
before the header gives the base of the pool; offsets are relative to this base.

A time has one number for each thread, such as ``3:0:5``. Buffer `a` is freed before buffer `b` is
allocated if no component of the end of `a` is larger than the same component of the start of `b`.
Two buffers conflict if neither is freed before the other is allocated.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from usmp_solver.columns import Column, column
from usmp_solver.formats.csv_cells import NO_OFFSET, Cells, CsvError, Dialect, read_cells
from usmp_solver.formats.csv_problem import CsvProblem, Times, check, check_ids, csv_problem

Clocks: TypeAlias = NDArray[np.int64]
"""Times of buffers: a row for each buffer, a column for each thread."""

_COLUMNS = ("id", "lower", "upper", "size", "offset", "kind")
_OMNIMALLOC = Dialect(
    names={name: name for name in _COLUMNS},
    required=("id", "lower", "upper", "size"),
    numbers={"size": None, "offset": NO_OFFSET},
    texts=("id", "lower", "upper", "kind"),
)
_KINDS = ("WORKSPACE", "CONSTANT", "INPUT", "OUTPUT")
_POOL_OFFSET = b"# pool_offset="
_TIME = re.compile(r"[0-9]{1,18}(:[0-9]{1,18})*")
_INTEGER = re.compile(rb"[0-9]{1,18}")
_MOST_THREADS = 1000
_MOST_BUFFERS = 20_000
"""Most buffers whose vector clocks are compared pairwise, which takes some seconds."""
_MOST_CONFLICTS = 20_000_000
_BLOCK = 4_000_000
"""Most comparisons at a time; each takes one byte."""


def is_omnimalloc(data: bytes) -> bool:
    """Return whether the file begins like a file of OmniMalloc.

    Only OmniMalloc writes the base of a pool, a column `kind`, or a vector clock in the first row.
    """
    if data.startswith(_POOL_OFFSET):
        return True
    header, _, rest = data.partition(b"\n")
    names = [name.strip().lower() for name in header.split(b",")]
    row = rest.partition(b"\n")[0].split(b",")
    clocks = [cell for name, cell in zip(names, row, strict=False) if name in (b"lower", b"upper")]
    return b"kind" in names or any(b":" in cell for cell in clocks)


def read_omnimalloc(
    path: str | os.PathLike[str], capacity: int | Mapping[str, int] | None = None
) -> CsvProblem:
    """Read a file of `omnimalloc.save_allocation` with one pool.

    Parameters
    ----------
    path
        the file.
    capacity
        size of the pool in bytes; None for no limit.

    Raises
    ------
    ValueError
        The file is malformed; the message names line and buffer.
    """
    return parse_omnimalloc(os.fspath(path), Path(path).read_bytes(), capacity)


def parse_omnimalloc(
    file: str, data: bytes, capacity: int | Mapping[str, int] | None = None
) -> CsvProblem:
    """Return the problem in the file. OmniMalloc can load the plan that `write_csv` writes.

    Buffers with an offset are pinned, as in OmniMalloc. The live ranges of the problem are the
    times of the first thread, then of the second, and so on. Conflicts that do not follow from
    these ranges are listed as pairs.

    Parameters
    ----------
    file
        name of the file, for messages.
    data
        content of the file.
    capacity
        size of the pool in bytes; None for no limit.

    Raises
    ------
    ValueError
        The file is malformed; the message names file, line and buffer.
    """
    preamble, data = _split_preamble(file, data)
    cells = read_cells(file, data, _OMNIMALLOC)
    check_ids(file, cells)
    # OmniMalloc has no buffers of zero bytes, and would not load the plan.
    size = cells.numbers["size"]
    check(file, cells, size < 1, "its size is {}, but must be 1 or more", size)
    for row, kind in enumerate(cells.texts.get("kind", [])):
        if kind and kind not in _KINDS:
            known = ", ".join(_KINDS)
            raise _error(file, cells, row, f'kind is "{kind}"; known: {known}, or an empty cell')
    starts, ends = _clocks(file, cells)
    return csv_problem(file, data, cells, _times(file, starts, ends), capacity, preamble)


def _split_preamble(file: str, data: bytes) -> tuple[str, bytes]:
    """Return the line with the base of the pool, and the file with an empty line instead."""
    if not data.startswith(_POOL_OFFSET):
        return "", data
    line, end, rest = data.partition(b"\n")
    number = line.removeprefix(_POOL_OFFSET).strip()
    if not _INTEGER.fullmatch(number):
        words = "the offset of the pool must be a whole number of bytes, such as # pool_offset=64"
        raise CsvError(file, 1, None, words)
    return (line.rstrip(b"\r") + b"\n").decode(), end + rest


def _error(file: str, cells: Cells, row: int, words: str) -> CsvError:
    return CsvError(file, int(cells.lines[row]), cells.texts["id"][row], words)


def _clocks(file: str, cells: Cells) -> tuple[Clocks, Clocks]:
    """Return the times at which each buffer is allocated and freed."""
    columns = []
    threads: int | None = None
    for name in ("lower", "upper"):
        times = []
        for row, text in enumerate(cells.texts[name]):
            if not _TIME.fullmatch(text):
                words = (
                    f'{name} is "{text}"; write a whole number that is not negative, or one for '
                    "each thread, as 3:0:5"
                )
                raise _error(file, cells, row, words)
            time = [int(component) for component in text.split(":")]
            threads = len(time) if threads is None else threads
            if len(time) != threads or threads > _MOST_THREADS:
                words = (
                    f"{name} has {len(time)} components; all times of a file must have as many as "
                    f"the first, {threads}, and at most {_MOST_THREADS}"
                )
                raise _error(file, cells, row, words)
            times.append(time)
        columns.append(np.array(times, np.int64))
    starts, ends = columns
    wrong = (starts > ends).any(axis=1) | (starts == ends).all(axis=1)
    if wrong.any():
        row = int(np.argmax(wrong))
        lower, upper = cells.texts["lower"][row], cells.texts["upper"][row]
        words = f"it lives from {lower} to {upper}, which is no time"
        raise _error(file, cells, row, words)
    return starts, ends


def _times(file: str, starts: Clocks, ends: Clocks) -> Times:
    """Concatenate the times of the threads.

    Two buffers conflict if they are live together in the time of one thread. Other conflicts are
    added as pairs.
    """
    count, threads = starts.shape
    if threads == 1:
        first = np.arange(count + 1, dtype=np.int64)
        return Times(first, starts[:, 0], ends[:, 0], column(), column())
    if count > _MOST_BUFFERS:
        raise CsvError(
            file,
            None,
            None,
            f"{count} buffers with vector clocks are too many; at most {_MOST_BUFFERS}",
        )
    ranked_starts, ranked_ends = _ranked(starts, ends)
    is_live = ranked_starts < ranked_ends
    shifts = np.arange(threads, dtype=np.int64) * (2 * count + 1)
    firsts, seconds = _hidden_conflicts(file, ranked_starts, ranked_ends)
    return Times(
        np.concatenate([[0], np.cumsum(is_live.sum(axis=1))]).astype(np.int64),
        (ranked_starts + shifts)[is_live],
        (ranked_ends + shifts)[is_live],
        firsts,
        seconds,
    )


def _ranked(starts: Clocks, ends: Clocks) -> tuple[Clocks, Clocks]:
    """Return the ranks of the times within each thread, from 0."""
    count, threads = starts.shape
    ranks = [
        np.unique(np.concatenate([starts[:, t], ends[:, t]]), return_inverse=True)[1].reshape(-1)
        for t in range(threads)
    ]
    both = np.stack(ranks, axis=1).astype(np.int64)
    return both[:count], both[count:]


def _hidden_conflicts(file: str, starts: Clocks, ends: Clocks) -> tuple[Column, Column]:
    """Return pairs that conflict although they are not live together in any thread's time."""
    count, threads = starts.shape
    firsts, seconds, num_pairs = [], [], 0
    step = max(1, _BLOCK // count)
    for begin in range(0, count, step):
        rows = slice(begin, min(begin + step, count))
        is_before = np.ones((rows.stop - begin, count), np.bool_)
        is_after = is_before.copy()
        is_live_together = ~is_before
        for t in range(threads):
            ends_first = ends[rows, t, None] <= starts[None, :, t]
            starts_later = ends[None, :, t] <= starts[rows, t, None]
            is_before &= ends_first
            is_after &= starts_later
            both_live = (starts[rows, t] < ends[rows, t])[:, None] & (starts[:, t] < ends[:, t])
            is_live_together |= ~ends_first & ~starts_later & both_live
        first, second = np.nonzero(~is_before & ~is_after & ~is_live_together)
        is_new = first + begin < second
        firsts.append(first[is_new] + begin)
        seconds.append(second[is_new])
        num_pairs += len(firsts[-1])
        if num_pairs > _MOST_CONFLICTS:
            words = f"more than {_MOST_CONFLICTS} pairs of buffers conflict by their vector clocks"
            raise CsvError(file, None, None, words)
    return np.concatenate(firsts).astype(np.int64), np.concatenate(seconds).astype(np.int64)
