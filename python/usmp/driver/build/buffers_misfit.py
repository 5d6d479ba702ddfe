"""The error message when the buffers of a file do not fit, or no plan was found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING

from usmp.driver.errors import UsageError

if TYPE_CHECKING:
    from usmp_solver import Pool, Problem, Solution
    from usmp_solver.formats.buffers_file import BuffersFile

_SHOWN = 20
"""Most buffers that a message names."""


def misfit(
    table: BuffersFile,
    solution: Solution,
    algorithm: str,
    solve: Callable[[Problem], Solution],
) -> UsageError:
    """Return the error: the capacity, the bytes needed, the buffers that conflict, and advice.

    Parameters
    ----------
    table
        buffers of the file.
    solution
        result of the search, without a plan.
    algorithm
        name of the algorithm that searched.
    solve
        function that solves the problem with other pool limits, within a short time.
    """
    subset = solution.infeasible_subset
    if not subset:
        return UsageError(
            f"{table.file}: {_not_found(solution)}{_lower_bound(solution)}"
            f"{_sufficient_capacity(table, solve) or ''}.\n{_advice(solution, algorithm)}."
        )
    names = ", ".join(_described(table, buffer) for buffer in subset[:_SHOWN])
    more = f" and {len(subset) - _SHOWN} more" if len(subset) > _SHOWN else ""
    together = (
        f"the {len(subset)} buffers {names}{more}" if len(subset) > 1 else f"the buffer {names}"
    )
    drop = "without any one of these the others fit" if solution.is_irreducible else ""
    enough = _sufficient_capacity(table, solve)
    if enough is None:
        is_pinned = (table.problem.fixed_offsets[list(subset)] >= 0).any()
        why = "" if is_pinned else ", which end beyond 64 bits"
        advice = "Change or empty the offset of" if is_pinned else "Shrink, shorten or move"
        return UsageError(
            f"{table.file}: whatever the capacity, there is no space for {together}{why}.\n"
            f"{advice} one of them."
        )
    advice = "Raise the capacity, or shrink, shorten or move one of these buffers"
    return UsageError(
        f"{table.file}: the buffers do not fit into {_capacities(table.problem.pools)}{enough}; "
        f"there is no space for {together}{_load(table.problem, subset)}."
        f"\n{advice}{f'; {drop}' if drop else ''}."
    )


def _is_too_small(solution: Solution) -> bool:
    """Return whether a lower bound alone proves that there is no plan."""
    pools = solution.problem.pools
    return any(p.limit is not None and solution.lower_bounds[p.name] > p.limit for p in pools)


def _not_found(solution: Solution) -> str:
    """Return the first words of the message if no infeasible subset is known."""
    pools = solution.problem.pools
    if _is_too_small(solution):
        return f"the buffers do not fit into {_capacities(pools)}"
    is_limited = any(pool.limit is not None for pool in pools)
    within = f" within {_capacities(pools)}" if is_limited else ""
    return f"no plan was found{within}, nor a proof that there is none"


def _advice(solution: Solution, algorithm: str) -> str:
    from usmp_solver.solver import SEARCHES

    if _is_too_small(solution):
        return "Raise the capacity; --usmp-algorithm=auto names buffers that do not fit together"
    if algorithm in SEARCHES:
        return "Give it more time with --usmp-time-budget, or raise the capacity"
    return "Try --usmp-algorithm=auto, or raise the capacity"


def _described(table: BuffersFile, buffer: int) -> str:
    problem = table.problem
    pin = int(problem.fixed_offsets[buffer])
    pinned = f", pinned to {pin}" if pin >= 0 else ""
    where = table.where(buffer)
    return f"{problem.names[buffer]} ({where}, {problem.sizes[buffer]} bytes{pinned})"


def _load(problem: Problem, subset: Sequence[int]) -> str:
    """Return a phrase with the memory pressure of these buffers, in bytes, in a single pool."""
    # Explicit conflicts do not mean that all of the buffers are live at one time.
    if len(problem.pools) > 1 or len(subset) < 2 or len(problem.conflict_firsts):
        return ""
    changes: dict[int, int] = {}
    for buffer in subset:
        ranges = slice(problem.live_first[buffer], problem.live_first[buffer + 1])
        for column, change in ((problem.live_starts, 1), (problem.live_stops, -1)):
            for time in column[ranges].tolist():
                changes[time] = changes.get(time, 0) + change * int(problem.sizes[buffer])
    times = sorted(changes)
    loads = list(accumulate(changes[time] for time in times))
    most = max(loads)
    if most > (problem.pools[0].limit or 0):
        return f", which take {most} bytes at time {times[loads.index(most)]}"
    return f", though they take no more than {most} bytes at any one time"


def _lower_bound(solution: Solution) -> str:
    """Return a phrase with the proved lower bound of a single pool."""
    bounds = list(solution.lower_bounds.values())
    return f"; at least {bounds[0]} bytes are needed" if len(bounds) == 1 else ""


def _capacities(pools: tuple[Pool, ...]) -> str:
    if len(pools) == 1:
        return f"{pools[0].limit} bytes"
    limits = ("no limit" if p.limit is None else f"{p.limit} bytes" for p in pools)
    return ", ".join(f"{pool.name} ({limit})" for pool, limit in zip(pools, limits, strict=True))


def _sufficient_capacity(table: BuffersFile, solve: Callable[[Problem], Solution]) -> str | None:
    """Return a phrase with pool sizes for which a plan fits, or None if no size is enough.

    Lift the limit of each pool alone, from the last pool on, then all limits. If time runs out,
    the phrase is empty.
    """
    from usmp_solver.solution import Status

    pools = table.problem.pools
    limited = [pool for pool in reversed(pools) if pool.limit is not None]
    status = Status.INFEASIBLE  # The result if no pool has a limit to lift.
    for lifted in [*([pool] for pool in limited), limited][: 1 if len(limited) == 1 else None]:
        unlimited = tuple(replace(p, limit=None) if p in lifted else p for p in pools)
        solution = solve(replace(table.problem, pools=unlimited))
        status = solution.status
        if solution.has_plan:
            peaks = [(p.name, solution.peaks[p.name]) for p in pools if p in lifted]
            is_least = solution.is_optimal and len(peaks) == 1
            words = "is needed" if is_least else "would be enough"
            if len(pools) == 1:
                return f"; a capacity of {peaks[0][1]} bytes {words}"
            sizes = " ".join(f"--capacity {name}={peak}" for name, peak in peaks)
            return f"; {sizes} {words}"
    return None if status is Status.INFEASIBLE else ""
