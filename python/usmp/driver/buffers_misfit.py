"""What to tell the user when the buffers of a file do not fit, or no plan was found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING

from usmp.driver.errors import UsageError

if TYPE_CHECKING:
    from usmp.solver.problem import Pool, Problem
    from usmp.solver.read_csv import CsvProblem
    from usmp.solver.solution import Solution

_SHOWN = 20
"""Buffers that a message names."""


_ADVICE = {
    "auto": "Give it more time with --usmp-time-budget, or raise the capacity",
    "exact": "Give it more time with --usmp-time-budget, or raise the capacity",
}
"""What to do where no plan was found, nor a proof that there is none."""

_ADVICE_OF_HEURISTICS = "Try --usmp-algorithm=auto, or raise the capacity"


def misfit(
    table: CsvProblem,
    solution: Solution,
    algorithm: str,
    solve: Callable[[Problem], Solution],
) -> UsageError:
    """The error: how much there was, how much is needed, by which buffers, and what to do.

    Parameters
    ----------
    table: the file.
    solution: that has no plan.
    algorithm: that made none.
    solve: tries the problem with other limits, and ends soon.
    """
    if not solution.infeasible_subset:
        advice = _ADVICE.get(algorithm, _ADVICE_OF_HEURISTICS)
        text = f"no plan was found within {_capacities(table.problem.pools)}, nor a proof that "
        return UsageError(
            f"{table.file}: {text}there is none{_at_least(solution)}{_enough(table, solve) or ''}."
            f"\n{advice}."
        )
    subset = solution.infeasible_subset
    names = ", ".join(_described(table, buffer) for buffer in subset[:_SHOWN])
    more = f" and {len(subset) - _SHOWN} more" if len(subset) > _SHOWN else ""
    together = (
        f"the {len(subset)} buffers {names}{more}" if len(subset) > 1 else f"the buffer {names}"
    )
    drop = "without any one of these the others fit" if solution.is_irreducible else ""
    enough = _enough(table, solve)
    if enough is None:
        return UsageError(
            f"{table.file}: whatever the capacity, there is no place for {together}.\n"
            "Change or empty the offset of one of them."
        )
    advice = "Raise the capacity, or shrink, shorten or move one of these buffers"
    return UsageError(
        f"{table.file}: the buffers do not fit into {_capacities(table.problem.pools)}{enough}; "
        f"there is no place for {together}{_load(table.problem, subset)}."
        f"\n{advice}{f'; {drop}' if drop else ''}."
    )


def _described(table: CsvProblem, buffer: int) -> str:
    problem = table.problem
    pin = int(problem.fixed_offsets[buffer])
    pinned = f", pinned to {pin}" if pin >= 0 else ""
    line = int(table.cells.lines[buffer])
    return f"{problem.names[buffer]} (line {line}, {problem.sizes[buffer]} bytes{pinned})"


def _load(problem: Problem, subset: Sequence[int]) -> str:
    """How many bytes of the one pool the buffers take when they take the most."""
    if len(problem.pools) > 1 or len(subset) < 2:
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


def _at_least(solution: Solution) -> str:
    """What is proved to be needed of the one pool."""
    bounds = list(solution.lower_bounds.values())
    return f"; at least {bounds[0]} bytes are needed" if len(bounds) == 1 else ""


def _capacities(pools: tuple[Pool, ...]) -> str:
    if len(pools) == 1:
        return f"{pools[0].limit} bytes"
    limits = ("no limit" if p.limit is None else f"{p.limit} bytes" for p in pools)
    return ", ".join(f"{pool.name} ({limit})" for pool, limit in zip(pools, limits, strict=True))


def _enough(table: CsvProblem, solve: Callable[[Problem], Solution]) -> str | None:
    """The capacity that would be enough: of one pool if that helps, the last first, else of all;
    None if none would, empty if none was found.
    """
    from usmp.solver.solution import Status

    pools = table.problem.pools
    limited = [pool for pool in reversed(pools) if pool.limit is not None]
    status = Status.INFEASIBLE  # Without limits, there are none to lift.
    for lifted in [*([pool] for pool in limited), limited][: 1 if len(limited) == 1 else None]:
        free = tuple(replace(p, limit=None) if p in lifted else p for p in pools)
        solution = solve(replace(table.problem, pools=free))
        status = solution.status
        if solution.has_plan:
            peaks = [(p.name, solution.peaks[p.name]) for p in pools if p in lifted]
            words = "is needed" if solution.is_optimal else "would be enough"
            if len(pools) == 1:
                return f"; a capacity of {peaks[0][1]} bytes {words}"
            sizes = ", ".join(f"{name}={peak}" for name, peak in peaks)
            return f"; --capacity {sizes} {words}"
    return None if status is Status.INFEASIBLE else ""
