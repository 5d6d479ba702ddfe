"""Whether a problem is well formed: every number in its range, every list as long as it must be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from usmp_solver.problem import Column, Problem

_INT64_MAX = (1 << 63) - 1


def validate(problem: Problem) -> None:
    """Return if the problem is well formed.

    Raises
    ------
    ValueError
        It is not; the message names the buffer.
    """
    _check_pools(problem)
    _check_shapes(problem)
    sizes, alignments, pins = problem.sizes, problem.alignments, problem.fixed_offsets
    _refuse(problem, sizes < 0, "its size, {}, is negative", sizes)
    _refuse(problem, alignments < 1, "its alignment, {}, is less than 1", alignments)
    _refuse(problem, pins < -1, "it is pinned to {}, which is no byte of a pool", pins)
    _refuse(
        problem,
        (pins >= 0) & (pins % alignments != 0),
        "it is pinned to {}, which is no multiple of its alignment, {}",
        pins,
        alignments,
    )
    ends_too_late = (pins >= 0) & (sizes > _INT64_MAX - np.maximum(pins, 0))
    _refuse(problem, ends_too_late, "pinned to {}, it ends beyond 64 bits", pins)
    _refuse(problem, np.diff(problem.candidate_first) == 0, "no pool may hold it")
    of_range = np.repeat(np.arange(len(problem)), np.diff(problem.live_first))
    _refuse_of(
        problem,
        of_range,
        problem.live_starts >= problem.live_stops,
        "its live range from {} to {} is empty",
        problem.live_starts,
        problem.live_stops,
    )
    if len(problem.candidates) > len(problem):  # Some have several.
        of_candidate = np.repeat(np.arange(len(problem)), np.diff(problem.candidate_first))
        twice = _is_repeated(of_candidate, problem.candidates)
        _refuse_of(problem, of_candidate, twice, "it names a pool twice")
    firsts, seconds = problem.conflict_firsts, problem.conflict_seconds
    _refuse_of(problem, firsts, firsts == seconds, "it conflicts with itself")
    outputs, inputs = problem.overlap_outputs, problem.overlap_inputs
    distances = problem.overlap_distances
    _refuse_of(problem, outputs, outputs == inputs, "it overlaps itself")
    twice = _is_repeated(outputs, inputs)
    _refuse_of(problem, outputs, twice, "it has two distances to one input")
    _refuse_of(
        problem,
        outputs,
        (distances < 0) | (distances > sizes[outputs]),
        "the distance of its overlap, {}, is negative or beyond its size",
        distances,
    )


def _check_pools(problem: Problem) -> None:
    if not problem.pools:
        raise ValueError("there is no pool; name at least one")
    names = [pool.name for pool in problem.pools]
    for pool in problem.pools:
        if names.count(pool.name) > 1:
            raise ValueError(f'two pools are called "{pool.name}"')
        is_whole = isinstance(pool.limit, (int, np.integer))
        if pool.limit is not None and not (is_whole and 0 <= pool.limit <= _INT64_MAX):
            raise ValueError(f'pool "{pool.name}": a limit of {pool.limit} bytes cannot be')


def _check_shapes(problem: Problem) -> None:
    count = len(problem.sizes)
    for name, values in problem.columns().items():
        if not isinstance(values, np.ndarray) or values.dtype != np.int64 or values.ndim != 1:
            raise ValueError(f"{name} must be a vector of numpy.int64")
    for name in ("names", "alignments", "fixed_offsets"):
        if len(getattr(problem, name)) != count:
            raise ValueError(f"{name} must have one entry for each of the {count} buffers")
    for first, lists in (("candidate_first", "candidates"), ("live_first", "live_starts")):
        begins, length = getattr(problem, first), len(getattr(problem, lists))
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
        if len(getattr(problem, one)) != len(getattr(problem, other)):
            raise ValueError(f"{one} and {other} must be equally long")
    for name, end in (
        ("candidates", len(problem.pools)),
        ("conflict_firsts", count),
        ("conflict_seconds", count),
        ("overlap_outputs", count),
        ("overlap_inputs", count),
    ):
        values = getattr(problem, name)
        if ((values < 0) | (values >= end)).any():
            raise ValueError(f"{name} must be from 0 to {end - 1}")


def _is_repeated(firsts: Column, seconds: Column) -> NDArray[np.bool_]:
    """Which rows have a pair that another row has, too; the first such row is none."""
    order = np.lexsort((seconds, firsts))
    same = (np.diff(firsts[order]) == 0) & (np.diff(seconds[order]) == 0)
    repeated = np.zeros(len(order), np.bool_)
    repeated[order[1:][same]] = True
    return repeated


def _refuse(problem: Problem, wrong: NDArray[np.bool_], text: str, *numbers: Column) -> None:
    _refuse_of(problem, np.arange(len(problem)), wrong, text, *numbers)


def _refuse_of(
    problem: Problem, buffers: Column, wrong: NDArray[np.bool_], text: str, *numbers: Column
) -> None:
    """Refuse the first row that is wrong; `buffers` says whose row it is."""
    if wrong.any():
        row = int(np.argmax(wrong))
        words = text.format(*(int(column[row]) for column in numbers))
        raise ValueError(f'buffer "{problem.names[int(buffers[row])]}": {words}')
