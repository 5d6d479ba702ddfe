"""Which buffers force a lower bound: a set that needs so many bytes whatever else there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from usmp.objects import BufferInfo
from usmp.objects.buffer_problem import problem_of
from usmp.planning.peak_position import is_live
from usmp_solver import Pool, Status, lower_bound, solve

AT_ONE_TIME = "live at one time"
"""They are all live at one position, and need so much one above the other, overlaps taken off."""
AT_SEVERAL_TIMES = "live at several times"
"""Which of them are live together, at which times, leaves no lower arrangement."""
BY_SEARCH = "search"
"""A search of all arrangements found none that is lower."""

_MOST_BUFFERS = 256
"""Of more, none is left out to see whether the others suffice."""

_WORK = 20_000_000
"""Steps of the search for a proof: about a tenth of a second."""


@dataclass(frozen=True)
class ForcingBuffers:
    """A set of buffers that needs as many bytes as the bound.

    Parameters
    ----------
    kind
        one of the constants of this module.
    buffers
        the set.
    is_irreducible
        without any one of them the others need less, or are not proved to need as much.
    """

    kind: str
    buffers: tuple[BufferInfo, ...]
    is_irreducible: bool


def forcing_buffers(buffers: Sequence[BufferInfo], bound: int) -> ForcingBuffers | None:
    """A set of the buffers of a pool that forces a bound; None if none is known.

    Parameters
    ----------
    buffers
        in the pool.
    bound
        in bytes; nothing forces 0.
    """
    if bound <= 0:
        return None
    buffers = [buffer for buffer in buffers if buffer.size_bytes > 0]
    together = _fullest(buffers)
    for members in (together, buffers):
        if members and lower_bound(problem_of(members)) >= bound:
            needed, is_irreducible = _needed(members, bound)
            kind = AT_ONE_TIME if _meet(needed) else AT_SEVERAL_TIMES
            return ForcingBuffers(kind, tuple(needed), is_irreducible)
    return _by_search(buffers, bound)


def _needed(members: Sequence[BufferInfo], bound: int) -> tuple[list[BufferInfo], bool]:
    """Those without which the bound does not hold, the smallest left out first."""
    needed = list(members)
    if len(needed) > _MOST_BUFFERS:
        return needed, False
    for buffer in sorted(members, key=lambda b: int(b.size_bytes)):
        fewer = [other for other in needed if other is not buffer]
        if fewer and lower_bound(problem_of(fewer)) >= bound:
            needed = fewer
    return needed, True


def _by_search(buffers: Sequence[BufferInfo], bound: int) -> ForcingBuffers | None:
    """Those of which a search proves that they do not fit in a byte less."""
    if not buffers:
        return None
    problem = problem_of(buffers)
    alone = replace(
        problem,
        pools=(Pool("pool", bound - 1),),
        candidate_first=np.arange(len(buffers) + 1),
        candidates=np.zeros(len(buffers), np.int64),
    )
    solution = solve(alone, work_budget=_WORK)
    if solution.status is not Status.INFEASIBLE:
        return None
    subset = tuple(buffers[number] for number in solution.infeasible_subset)
    return ForcingBuffers(BY_SEARCH, subset, solution.is_irreducible)


def _fullest(buffers: Sequence[BufferInfo]) -> list[BufferInfo]:
    """Those that are live where most bytes are."""
    starts = {int(live.start) for buffer in buffers for live in buffer.live_ranges}
    live = [[b for b in buffers if is_live(b, start)] for start in sorted(starts)]
    return max(live, key=lambda members: sum(int(b.size_bytes) for b in members), default=[])


def _meet(buffers: Sequence[BufferInfo]) -> bool:
    """Whether all are live at some position."""
    starts = {int(live.start) for buffer in buffers for live in buffer.live_ranges}
    return any(all(is_live(b, start) for b in buffers) for start in starts)
