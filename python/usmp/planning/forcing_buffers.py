"""Buffers that force a lower bound: a set that alone needs that many bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from usmp.analysis.pressure import fullest_position
from usmp.objects import BufferInfo
from usmp.objects.buffer_problem import problem_of
from usmp.planning.peak_position import is_live
from usmp_solver import Pool, Status, lower_bound, solve

AT_ONE_TIME = "live at one time"
"""The buffers are live at one position, and need the bound even with all safe overlaps."""
AT_SEVERAL_TIMES = "live at several times"
"""The live ranges of the buffers at several positions permit no lower arrangement."""
BY_SEARCH = "search"
"""An exhaustive search found no lower arrangement."""

_MOST_BUFFERS = 256
"""Larger sets are not reduced: to test a buffer, the lower bound of all others is computed."""

_WORK = 20_000_000
"""Work budget of the search for a proof: about a tenth of a second."""


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
        whether each buffer is needed: without any one of them, the bound is not proved.
    """

    kind: str
    buffers: tuple[BufferInfo, ...]
    is_irreducible: bool


def forcing_buffers(buffers: Sequence[BufferInfo], bound: int) -> ForcingBuffers | None:
    """Return a set of the buffers of a pool that forces a bound; None if none is known.

    Parameters
    ----------
    buffers
        the buffers in the pool.
    bound
        in bytes; for 0, the result is None.
    """
    if bound <= 0:
        return None
    buffers = [buffer for buffer in buffers if buffer.size_bytes > 0]
    position = fullest_position(buffers)
    together = [buffer for buffer in buffers if is_live(buffer, position)]
    for members in (together, buffers):
        if members and lower_bound(problem_of(members)) >= bound:
            needed, is_irreducible = _needed(members, bound)
            kind = AT_ONE_TIME if _meet(needed) else AT_SEVERAL_TIMES
            return ForcingBuffers(kind, tuple(needed), is_irreducible)
    return _by_search(buffers, bound)


def _needed(members: Sequence[BufferInfo], bound: int) -> tuple[list[BufferInfo], bool]:
    """Return a subset that proves the bound, and whether no buffer can be left out of it. The
    smallest buffers are left out first."""
    needed = list(members)
    if len(needed) > _MOST_BUFFERS:
        return needed, False
    for buffer in sorted(members, key=lambda b: int(b.size_bytes)):
        fewer = [other for other in needed if other is not buffer]
        if fewer and lower_bound(problem_of(fewer)) >= bound:
            needed = fewer
    return needed, True


def _by_search(buffers: Sequence[BufferInfo], bound: int) -> ForcingBuffers | None:
    """Return buffers that a search proves not to fit in one byte less; None without a proof."""
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


def _meet(buffers: Sequence[BufferInfo]) -> bool:
    """Return whether all buffers are live at one position."""
    starts = {int(live.start) for buffer in buffers for live in buffer.live_ranges}
    return any(all(is_live(b, start) for b in buffers) for start in starts)
