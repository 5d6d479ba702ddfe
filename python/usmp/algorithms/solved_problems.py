"""Problems that were solved before: those of modules that differ in when buffers are in use, not in
which are in use together, have one plan."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace

import numpy as np

from usmp_solver import Problem, Progress, Solution, solve

_SOLVED: ContextVar[dict[Hashable, Solution] | None] = ContextVar("usmp_solved", default=None)


@contextmanager
def shared_solutions() -> Iterator[None]:
    """Within, `solve_once` solves a problem once; one that is within another one shares its
    solutions."""
    token = _SOLVED.set({} if (known := _SOLVED.get()) is None else known)
    try:
        yield
    finally:
        _SOLVED.reset(token)


def solve_once(
    problem: Problem, algorithm: str, progress: Callable[[Progress], bool | None] | None
) -> Solution:
    """Solve a problem without a time budget; see `usmp_solver.solve`.

    Parameters
    ----------
    algorithm
        one of `usmp_solver.SEARCHES`: these see only in which order live ranges start and stop.
    progress
        as `solve` takes it; a search that it ends is not known afterwards.
    """
    is_ended = False

    def go_on(found: Progress) -> bool:
        nonlocal is_ended
        is_ended |= progress is not None and progress(found) is False
        return not is_ended

    solved = _SOLVED.get()
    what = None if solved is None else (algorithm, *_in_order(problem))
    if solved is not None and what in solved:
        return replace(solved[what], problem=problem)
    found = solve(problem, algorithm=algorithm, progress=go_on, fill_preferred=True)
    if solved is not None and not is_ended:
        solved[what] = found
    return found


def _in_order(problem: Problem) -> tuple[Hashable, ...]:
    """Return all of a problem, with its times numbered in their order."""
    columns = problem.columns()
    times = np.concatenate([problem.live_starts, problem.live_stops])
    _, numbers = np.unique(times, return_inverse=True)
    columns["live_starts"], columns["live_stops"] = np.split(numbers, 2)
    return *problem.names, *problem.pools, *(column.tobytes() for column in columns.values())
