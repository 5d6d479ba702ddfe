"""Checks that a problem is well formed: ranges of numbers and lengths of lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from usmp_solver.buffers import Pool
from usmp_solver.columns import INT64_MAX, Column


def check_pools(pools: Sequence[Pool]) -> None:
    """Check that there is a pool, and that names are unique and limits valid.

    Raises
    ------
    ValueError
        A check fails; the message names the pool.
    """
    if not pools:
        raise ValueError("there is no pool; name at least one")
    names = [pool.name for pool in pools]
    for pool in pools:
        if names.count(pool.name) > 1:
            raise ValueError(f'two pools are called "{pool.name}"')
        is_whole = isinstance(pool.limit, (int, np.integer))
        if pool.limit is not None and not (is_whole and 0 <= pool.limit <= INT64_MAX):
            raise ValueError(f'pool "{pool.name}": a limit of {pool.limit} bytes cannot be')


def validate(names: Sequence[str], pools: Sequence[Pool], columns: Mapping[str, Column]) -> None:
    """Check that the columns are well formed, after `check_pools`.

    Raises
    ------
    ValueError
        A check fails; the message names the buffer.
    """
    _check_shapes(names, pools, columns)
    _check_buffers(names, columns)
    _check_candidates(names, columns)
    _check_pairs(names, columns)


def check_numbers(
    refuse: Callable[..., None], sizes: Column, alignments: Column, pins: Column
) -> None:
    """Check sizes, alignments and pinned offsets; -1 means that a buffer is not pinned.

    Parameters
    ----------
    refuse
        raises an error for the first wrong row, if any. Its arguments are a mask of the wrong rows,
        a message with placeholders, and the columns of the numbers for the placeholders.
    """
    refuse(sizes < 0, "its size, {}, is negative", sizes)
    refuse(alignments < 1, "its alignment, {}, is less than 1", alignments)
    refuse(pins < -1, "it is pinned to {}, which is no byte of a pool", pins)
    words = "it is pinned to {}, which is no multiple of its alignment, {}"
    refuse((pins >= 0) & (pins % alignments != 0), words, pins, alignments)
    ends_too_late = (pins >= 0) & (sizes > INT64_MAX - np.maximum(pins, 0))
    refuse(ends_too_late, "pinned to {}, it ends beyond 64 bits", pins)


def _check_buffers(names: Sequence[str], columns: Mapping[str, Column]) -> None:
    sizes, alignments, pins = (columns[name] for name in ("sizes", "alignments", "fixed_offsets"))
    everyone = np.arange(len(sizes))
    check_numbers(partial(_refuse, names, everyone), sizes, alignments, pins)
    starts, stops = columns["live_starts"], columns["live_stops"]
    of_range = np.repeat(everyone, np.diff(columns["live_first"]))
    words = "its live range from {} to {} is empty"
    _refuse(names, of_range, starts >= stops, words, starts, stops)


def _check_candidates(names: Sequence[str], columns: Mapping[str, Column]) -> None:
    counts, candidates = np.diff(columns["candidate_first"]), columns["candidates"]
    everyone = np.arange(len(counts))
    _refuse(names, everyone, counts == 0, "no pool may hold it")
    if len(candidates) > len(counts):  # Some buffers have several.
        of_candidate = np.repeat(everyone, counts)
        twice = _is_repeated(of_candidate, candidates)
        _refuse(names, of_candidate, twice, "it names a pool twice")


def _check_pairs(names: Sequence[str], columns: Mapping[str, Column]) -> None:
    firsts, seconds = columns["conflict_firsts"], columns["conflict_seconds"]
    _refuse(names, firsts, firsts == seconds, "it conflicts with itself")
    outputs, inputs = columns["overlap_outputs"], columns["overlap_inputs"]
    distances = columns["overlap_distances"]
    _refuse(names, outputs, outputs == inputs, "it overlaps itself")
    twice = _is_repeated(outputs, inputs)
    _refuse(names, outputs, twice, "it has two distances to one input")
    _refuse(
        names,
        outputs,
        (distances < 0) | (distances > columns["sizes"][outputs]),
        "the distance of its overlap, {}, is negative or beyond its size",
        distances,
    )


def _check_shapes(
    names: Sequence[str], pools: Sequence[Pool], columns: Mapping[str, Column]
) -> None:
    count = len(columns["sizes"])
    for name, values in columns.items():
        if not isinstance(values, np.ndarray) or values.dtype != np.int64 or values.ndim != 1:
            raise ValueError(f"{name} must be a vector of numpy.int64")
    of_buffers: dict[str, Sequence[str] | Column] = {
        "names": names,
        "alignments": columns["alignments"],
        "fixed_offsets": columns["fixed_offsets"],
    }
    for name, entries in of_buffers.items():
        if len(entries) != count:
            raise ValueError(f"{name} must have one entry for each of the {count} buffers")
    for first, lists in (("candidate_first", "candidates"), ("live_first", "live_starts")):
        begins, length = columns[first], len(columns[lists])
        if (
            len(begins) != count + 1
            or begins[0] != 0
            or begins[-1] != length
            or (np.diff(begins) < 0).any()
        ):
            raise ValueError(
                f"{first} must rise from 0 to the length of {lists}, {length}, in "
                f"{count + 1} entries"
            )
    for one, other in (
        ("live_starts", "live_stops"),
        ("conflict_firsts", "conflict_seconds"),
        ("overlap_outputs", "overlap_inputs"),
        ("overlap_outputs", "overlap_distances"),
    ):
        if len(columns[one]) != len(columns[other]):
            raise ValueError(f"{one} and {other} must be equally long")
    for name, end in (
        ("candidates", len(pools)),
        ("conflict_firsts", count),
        ("conflict_seconds", count),
        ("overlap_outputs", count),
        ("overlap_inputs", count),
    ):
        values = columns[name]
        if ((values < 0) | (values >= end)).any():
            raise ValueError(f"{name} must be from 0 to {end - 1}")


def _is_repeated(firsts: Column, seconds: Column) -> NDArray[np.bool_]:
    """Return the rows whose pair repeats an earlier row."""
    order = np.lexsort((seconds, firsts))
    same = (np.diff(firsts[order]) == 0) & (np.diff(seconds[order]) == 0)
    repeated = np.zeros(len(order), np.bool_)
    repeated[order[1:][same]] = True
    return repeated


def _refuse(
    names: Sequence[str], buffers: Column, wrong: NDArray[np.bool_], text: str, *numbers: Column
) -> None:
    """Raise ValueError for the first row that is wrong; `buffers` has the buffer of each row."""
    if wrong.any():
        row = int(np.argmax(wrong))
        words = text.format(*(int(column[row]) for column in numbers))
        raise ValueError(f'buffer "{names[int(buffers[row])]}": {words}')
