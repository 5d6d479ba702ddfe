"""What does not fit, in words. The data is the solver's (`usmp_solver.DoesNotFit`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property

from tvm_ffi import register_error

from usmp.algorithms.least_need import LeastNeed
from usmp_solver import (
    SEARCHES,
    DoesNotFit,
    EnoughBytes,
    RefusingPool,
    Solution,
    Unplaced,
    live_at_peak,
    solve,
)

_BOARD = "the model does not fit board"
_PROVED_NAMED = 8
"""Buffers of a proof that a message names."""
_LARGEST_NAMED = 4


class DoesNotFitError(ValueError):
    """The buffers do not fit, or no plan was found.

    What does not fit is found out, by further searches, when it is first asked for; `str` of the
    error says it in words.

    Parameters
    ----------
    explain
        finds it out, or what every plan needs where none was searched.
    solution
        that has no plan; None if there is no problem to be solved.
    """

    def __init__(
        self, explain: Callable[[], DoesNotFit | LeastNeed], solution: Solution | None = None
    ) -> None:
        super().__init__()
        self._explain = explain
        self.solution = solution

    @cached_property
    def does_not_fit(self) -> DoesNotFit | LeastNeed:
        """What does not fit."""
        return self._explain()

    def __str__(self) -> str:
        return text_of(self.does_not_fit)


# C++ gets a ValueError with the text, and so does Python that called it; what is
# registered last is what a ValueError of C++ becomes.
register_error("ValueError", DoesNotFitError)
register_error("ValueError", ValueError)


def is_misfit(error: Exception) -> bool:
    """Whether an error of a build says that something does not fit, in pools or a board; of an
    error that leaves a pass only the text is left."""
    return isinstance(error, DoesNotFitError) or str(error).startswith(_BOARD)


def text_for_board(
    misfit: DoesNotFit | LeastNeed,
    solution: Solution | None,
    board: str,
    memory: Callable[[str], object],
) -> str:
    """What does not fit a board, and what to do.

    Parameters
    ----------
    misfit
        what does not fit.
    solution
        that has no plan; None if there is no problem to be solved.
    board
        its name.
    memory
        from the name of a pool to the memory that it lies in.
    """
    if isinstance(misfit, LeastNeed):
        return misfit.text_for_board(board, memory)
    enough = {each.pool: each.bytes for each in (*misfit.alone, *misfit.together)}
    limited = [each.pool for each in misfit.pools if each.pool.limit is not None]
    parts = []
    for pool in limited:
        text = f"{memory(pool.name)} has {pool.limit} bytes for pools"
        if pool.name in enough:
            text += f", {enough[pool.name] - (pool.limit or 0)} too few"
        parts.append(text)
    if solution is not None and limited:
        parts.append(_with_enough_memory(solution, limited[0].name))
    buffer = f'buffer "{misfit.buffer.name}" ({misfit.buffer.size} bytes)'
    return "; ".join(
        [
            f"{_BOARD} {board}: no space for {buffer}",
            *filter(None, parts),
            "choose other memories, a smaller model, or another tir.usmp.algorithm",
        ]
    )


def _with_enough_memory(solution: Solution, pool: str) -> str:
    """The bytes that the same buffers take of the pool in memories without limits, and the largest
    buffers of them; empty if they take none."""
    problem = solution.problem
    free = replace(problem, pools=tuple(replace(each, limit=None) for each in problem.pools))
    unlimited = solve(
        free,
        # The user waits for an error: what fixed work finds is as good a number.
        algorithm="auto" if solution.algorithm == "exact" else solution.algorithm,
        memory_pressure=solution.memory_pressure,
        fill_preferred=True,
    )
    if not unlimited.has_plan or not unlimited.peaks[pool]:
        return ""
    live = sorted(
        live_at_peak(unlimited, pool), key=lambda b: (-problem.sizes[b], str(problem.names[b]))
    )
    largest = ", ".join(f"{problem.names[b]} ({problem.sizes[b]})" for b in live[:_LARGEST_NAMED])
    return (
        f"with enough memory it would take {unlimited.peaks[pool]} bytes of {pool}, the largest of "
        f"them {largest}"
    )


def text_of(misfit: DoesNotFit | LeastNeed) -> str:
    """What does not fit and what to do, in words of size hints of memory pools."""
    if isinstance(misfit, LeastNeed):
        return misfit.text()
    is_search = misfit.algorithm in SEARCHES
    lines = [
        "TVM USMP Error: the space available in the provided pools exceeded when trying to "
        f"allocate the buffer : {_described(misfit.buffer)}",
        *(_pool(misfit, pool) for pool in misfit.pools),
        *([_proof(misfit)] if misfit.proved else []),
    ]
    if is_search and not misfit.is_proved:
        lines.append(
            "No plan was found, and none is proved impossible: more work may find one "
            "(tir.usmp.algorithm=exact or a longer tir.usmp.time_budget)."
        )
    advice = _searched_advice(misfit) if is_search else _placed_advice(misfit)
    return "\n".join([*lines, *([advice] if advice else [])])


def _described(buffer: Unplaced) -> str:
    pinned = "" if buffer.offset is None else f", pinned to offset {buffer.offset}"
    return f"{buffer.name} ({buffer.size} bytes, alignment {buffer.alignment}{pinned})"


def _pool(misfit: DoesNotFit, refusing: RefusingPool) -> str:
    """A line for a candidate pool."""
    limit = -1 if refusing.pool.limit is None else refusing.pool.limit
    text = f'  pool "{refusing.pool.name}": size_hint_bytes={limit}'
    if refusing.taken is None:
        return text
    text += f", {refusing.taken} bytes already taken, "
    if refusing.end is not None:
        return f"{text}the buffer would end at byte {refusing.end}"
    if refusing.occupant is None:
        return f"{text}the buffer would end beyond the largest 64-bit offset"
    start = refusing.occupant_offset
    return (
        f'{text}buffer "{refusing.occupant.name}" is at bytes '
        f"[{start}, {start + refusing.occupant.size})"
    )


def _proof(misfit: DoesNotFit) -> str:
    buffers = misfit.proved
    which = "one buffer alone" if len(buffers) == 1 else f"{len(buffers)} buffers together"
    named = ", ".join(
        f'"{each.name}" ({each.size} bytes'
        + ("" if each.offset is None else f" at offset {each.offset}")
        + ")"
        for each in buffers[:_PROVED_NAMED]
    )
    more = len(buffers) - _PROVED_NAMED
    text = f"No plan fits: {which} {_need(misfit)}: {named}"
    text += f" and {more} more" if more > 0 else ""
    if misfit.is_irreducible and len(buffers) > 1:
        text += "; without any one of them the rest fits"
    return f"{text}."


def _need(misfit: DoesNotFit) -> str:
    is_one = len(misfit.proved) == 1
    if not misfit.fits_without_limits:
        return "cannot be placed, whatever the size hints"
    if misfit.needed is not None:
        return f"{'needs' if is_one else 'need'} at least {misfit.needed} bytes"
    return "is larger than each of its pools" if is_one else "have no place in their pools"


def _searched_advice(misfit: DoesNotFit) -> str:
    hints = _hints(misfit, "a plan fits")
    if hints:
        return (
            f"Please increase the size_hints for memory pools.{hints} Another pool among the "
            "candidates of the buffers may also help."
        )
    if misfit.is_proved:
        return "No size hint helps. Give the buffers other pools, or another fixed_offset."
    return ""


def _placed_advice(misfit: DoesNotFit) -> str:
    hints = _hints(misfit, "the same algorithm succeeds")
    if hints:
        return (
            f"Please increase the size_hints for memory pools.{hints} Another pool among the "
            "candidates of the buffer, or another tir.usmp.algorithm, may also help."
        )
    pinned = "" if misfit.buffer.offset is None else ", or another fixed_offset"
    return f"No size hint helps. Give the buffer another pool{pinned}."


def _hints(misfit: DoesNotFit, succeeds: str) -> str:
    """Size hints that would do; empty if none would."""
    smallest = [each for each in misfit.alone if each.is_smallest]
    enough = [each for each in misfit.alone if not each.is_smallest]
    text = ""
    if smallest:
        named = _limits(smallest, ", or ")
        text += f" The smallest size_hint_bytes with which {succeeds}: {named}."
    if enough:
        text += f" Enough is size_hint_bytes={_limits(enough, ', or ')}."
    if misfit.together:
        together = " together" if len(misfit.together) > 1 else ""
        text += f" Enough is size_hint_bytes={_limits(misfit.together, ' and ')}{together}."
    return text


def _limits(limits: Iterable[EnoughBytes], separator: str) -> str:
    return separator.join(f'{limit.bytes} for pool "{limit.pool}"' for limit in limits)
