"""Solved placement problems. Problems that differ only in the positions of live ranges, and not in
the order of these positions, share a solution."""

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
    """Share solutions within the context, so that `solve_once` solves a problem once. A nested
    context uses the solutions of the outer one."""
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
        one of `usmp_solver.SEARCHES`, which use only the order of starts and stops of live ranges.
    progress
        callback of `solve`; a search that it ends is not remembered.
    """
    is_ended = False

    def go_on(state: Progress) -> bool:
        nonlocal is_ended
        is_ended |= progress is not None and progress(state) is False
        return not is_ended

    solved = _SOLVED.get()
    key = None if solved is None else (algorithm, *_in_order(problem))
    if solved is not None and key in solved:
        return replace(solved[key], problem=problem)
    solution = solve(problem, algorithm=algorithm, progress=go_on, fill_preferred=True)
    if solved is not None and not is_ended:
        solved[key] = solution
    return solution


def _in_order(problem: Problem) -> tuple[Hashable, ...]:
    """Return a key of a problem, with positions replaced by their ranks."""
    columns = problem.columns()
    times = np.concatenate([problem.live_starts, problem.live_stops])
    _, numbers = np.unique(times, return_inverse=True)
    columns["live_starts"], columns["live_stops"] = np.split(numbers, 2)
    return *problem.names, *problem.pools, *(column.tobytes() for column in columns.values())
