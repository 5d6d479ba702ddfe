"""`solve`: a problem in, a checked plan and its proof status out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from usmp_solver.check import check_columns
from usmp_solver.columns import INT64_MAX, Column
from usmp_solver.library import function, tensors
from usmp_solver.problem import Problem
from usmp_solver.solution import Solution, Status

SEARCHES = ("auto", "exact")
"""The algorithms that improve the plan until it is proved best or a budget ends."""
ALGORITHMS = (*SEARCHES, "greedy_by_size", "greedy_by_conflicts", "hill_climb", "no_sharing")
"""All algorithms."""


@dataclass(frozen=True)
class Progress:
    """The state of a running solver, in bytes, summed over the pools.

    `peak` belongs to the best plan so far; None without a plan.
    """

    peak: int | None
    lower_bound: int


def solve(
    problem: Problem,
    *,
    algorithm: str = "auto",
    work_budget: int | None = None,
    time_budget: float | None = None,
    progress: Callable[[Progress], bool | None] | None = None,
    memory_pressure: int | None = None,
    fill_preferred: bool = False,
) -> Solution:
    """Place the buffers.

    The best plan within the limits has the lowest peak in the least preferred pool. Ties are
    decided by the peak in the next more preferred pool, and so on. Every plan has
    passed an independent check. Without a time budget, it is the same on every machine.

    Parameters
    ----------
    problem
        the problem to solve.
    algorithm
        "auto" stops after `work_budget`; "exact" stops when the plan is proved best, or when a
        given budget ends. "greedy_by_size", "greedy_by_conflicts", "hill_climb" and "no_sharing"
        stop by themselves, and accept no time budget.
    work_budget
        steps after which the best plan so far is returned. 200 million take about a second, and are
        the default of "auto".
    time_budget
        seconds after which the best plan so far is returned.
    progress
        called a few times a second; returning False ends the search with the best plan so far.
    memory_pressure
        total in bytes at which "hill_climb" stops. The default is a proved lower bound; any other
        lower bound gives the same plan.
    fill_preferred
        whether "auto" and "exact" move buffers to preferred pools with enough space, if no less
        preferred pool gets a higher peak. So preferred pools may exceed their lower bounds, and
        less preferred pools may get lower peaks. The other algorithms try preferred pools first.

    Raises
    ------
    ValueError
        The algorithm is unknown or accepts no time budget, or a budget is not positive.
    """
    if algorithm not in ALGORITHMS:
        raise ValueError(f'unknown algorithm "{algorithm}"; known: {", ".join(ALGORITHMS)}')
    for name, budget in (("work_budget", work_budget), ("time_budget", time_budget)):
        if budget is not None and not budget > 0:
            raise ValueError(f"{name} must be more than 0, not {budget}")
    if time_budget is not None and algorithm not in SEARCHES:
        raise ValueError(f"a time budget is for {' or '.join(SEARCHES)}, not for {algorithm}")

    def watch(peak: int | None, lower_bound: int) -> bool:
        # Called even without a watcher, because Python raises KeyboardInterrupt here.
        return progress is None or progress(Progress(peak, lower_bound)) is not False

    # Omit names that break no ties, because a million names cost as much time as the search.
    is_ordered = algorithm not in SEARCHES or fill_preferred
    answer = function("solve")(
        tensors(problem.columns()),
        list(problem.names) if is_ordered else [],
        algorithm,
        memory_pressure,
        fill_preferred,
        None if work_budget is None else int(min(work_budget, INT64_MAX)),
        None if time_budget is None else float(time_budget),
        watch,
    )
    return _checked(problem, algorithm, memory_pressure, answer)


def _checked(
    problem: Problem, algorithm: str, memory_pressure: int | None, answer: Mapping[str, Any]
) -> Solution:
    def numbers(name: str) -> Column:
        return np.array(np.from_dlpack(answer[name]), np.int64)

    names = [pool.name for pool in problem.pools]
    offsets, pools = numbers("offsets"), numbers("pools")

    solution = Solution(
        problem=problem,
        algorithm=algorithm,
        memory_pressure=memory_pressure,
        status=Status(str(answer["status"])),
        offsets=offsets,
        pools=pools,
        peaks=_peaks(problem, offsets, pools),
        lower_bounds=dict(zip(names, numbers("lower_bounds").tolist(), strict=True)),
        infeasible_subset=tuple(numbers("infeasible_subset").tolist()),
        is_irreducible=bool(answer["is_irreducible"]),
        work=int(answer["work"]),
    )
    if solution.has_plan:
        check_columns(problem, offsets, pools)
    return solution


def _peaks(problem: Problem, offsets: Column, pools: Column) -> dict[str, int]:
    """Return the highest end of a buffer with bytes, by pool, computed from the plan."""
    peaks = np.zeros(len(problem.pools), np.int64)
    if len(offsets):
        np.maximum.at(peaks, pools, np.where(problem.sizes > 0, offsets + problem.sizes, 0))
    return dict(zip((pool.name for pool in problem.pools), peaks.tolist(), strict=True))


def lower_bound(problem: Problem) -> int:
    """Return a lower bound, in bytes, of the peak if one unlimited pool had all buffers."""
    return int(function("lower_bound")(tensors(problem.columns())))
