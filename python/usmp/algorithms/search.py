"""`auto` and `exact`: the solver as planning algorithms, with proved bounds of their plans.

``auto`` ends after a fixed amount of work, so the same buffers give the same plan on every machine;
``exact`` goes on until its plan is proved optimal. A time budget replaces the limit of work. Both
end at a deadline. To show or end a search, plan inside :func:`watched`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import TypeAlias

from usmp.algorithms.solver import allocations_of, solve_buffers
from usmp.objects import BufferInfo, PoolAllocation
from usmp.support.deadline import Deadline, has_passed
from usmp_solver import Progress

PROOF, WORK, TIME, WATCHER = "proof", "work", "time", "interrupt"
"""The end of a search: a proof of optimality, the limit of work, the time budget, or a `Watch`."""

Watch: TypeAlias = Callable[[Progress], bool]
"""Called several times a second; False ends the search with the best plan so far."""

Watching: TypeAlias = Callable[[], AbstractContextManager[Watch]]
"""Returns a context that is entered for each search."""


def unwatched() -> AbstractContextManager[Watch]:
    """Return a context without progress, in which searches end by themselves."""
    return nullcontext(lambda _: True)


_WATCHING: ContextVar[Watching] = ContextVar("usmp_watching", default=unwatched)


@contextmanager
def watched(watching: Watching) -> Iterator[None]:
    """Report the progress of the searches within the context."""
    token = _WATCHING.set(watching)
    try:
        yield
    finally:
        _WATCHING.reset(token)


class SearchedPlan(dict[BufferInfo, PoolAllocation]):
    """A plan, with the results of its search.

    Parameters
    ----------
    plan
        pool and offset of each buffer.
    lower_bounds
        pool name -> proved lower bound of its peak in bytes. It holds for plans in which no less
        preferred pool has a higher peak than in this plan.
    ended_by
        the end of the search: `PROOF`, `WORK`, `TIME` or `WATCHER`.
    work
        number of steps of the solver.
    """

    def __init__(
        self,
        plan: Mapping[BufferInfo, PoolAllocation],
        lower_bounds: Mapping[str, int],
        ended_by: str,
        work: int,
    ) -> None:
        super().__init__(plan.items())
        self.lower_bounds = lower_bounds
        self.ended_by = ended_by
        self.work = work


def search(
    name: str,
    buffers: Sequence[BufferInfo],
    time_budget_seconds: float | None = None,
    deadline: Deadline | None = None,
) -> SearchedPlan:
    """Plan by `auto` or `exact`.

    Parameters
    ----------
    name
        "auto" or "exact".
    buffers
        the buffers to place.
    time_budget_seconds
        if given, only time ends the search before the plan is proved optimal.
    deadline
        time at which the search ends in any case.

    Raises
    ------
    DoesNotFitError
        the buffers do not fit, or no plan was found.
    """
    if not buffers:
        return SearchedPlan({}, {}, PROOF, 0)
    is_ended = False
    seconds = time_budget_seconds
    if seconds is not None and deadline is not None:
        seconds = min(seconds, deadline.search_seconds())

    with _WATCHING.get()() as watch:

        def go_on(progress: Progress) -> bool:
            nonlocal is_ended
            is_ended = not watch(progress)
            return not (is_ended or has_passed(deadline))

        solution = solve_buffers(list(buffers), name, time_budget=seconds, progress=go_on)
    if solution.is_optimal:
        ended_by = PROOF
    elif is_ended:
        ended_by = WATCHER
    else:
        ended_by = WORK if seconds is None and not has_passed(deadline) else TIME
    plan = allocations_of(list(buffers), solution)
    return SearchedPlan(plan, solution.lower_bounds, ended_by, solution.work)
