"""The error of buffers that do not fit. Its data comes from `usmp_solver.DoesNotFit`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextvars import ContextVar
from copyreg import __newobj__  # type: ignore[attr-defined]
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, TypeAlias

from tvm_ffi import register_error

from usmp.algorithms.least_need import LeastNeed
from usmp.names import STAGES, stages_in_order
from usmp.support.tvmc_exception import TVMCException
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

_PROVED_NAMED = 8
"""Most buffers of a proof that a message names."""
_LARGEST_NAMED = 4

Misfit: TypeAlias = DoesNotFit | LeastNeed
"""The buffers that a search could not place, or a lower bound that exceeds the pools."""


class DoesNotFitError(TVMCException, ValueError):
    """The buffers do not fit into the pools or the board, or no plan was found.

    `str` of the error names the pools, the buffers, and sizes with which there is a plan; the
    attributes have the same numbers. They are computed, by further searches, when first read. A
    copy of the error for another process has all of them.

    Parameters
    ----------
    misfit
        the attribute `does_not_fit`, or a function that returns it.
    solution
        the solver's result without a plan; None if no problem was solved.
    words
        returns the text of the error.
    not_compared
        stages (`usmp.names.STAGES`) in which a time budget ended the search for another choice.
    """

    _solution: Solution | None = None
    not_compared: Collection[str] = ()
    advice: str = ""
    """Last sentence of the text, such as a command that helps."""

    def __init__(
        self,
        misfit: Misfit | Callable[[], Misfit],
        solution: Solution | None = None,
        words: Callable[[Misfit], str] | None = None,
        not_compared: Collection[str] = (),
    ) -> None:
        super().__init__()
        self._misfit = misfit
        self._solution = solution
        self._words = words or text_of
        self.not_compared = tuple(not_compared)

    @cached_property
    def does_not_fit(self) -> Misfit:
        """The buffers and pools, and the facts that are proved about them."""
        return self._misfit() if callable(self._misfit) else self._misfit

    @property
    def needed_bytes(self) -> int | None:
        """Bytes that the pools without enough space need, for the chosen form of the model. If
        `is_exact`, they are the fewest bytes with which there is a plan, else a lower bound ("at
        least"). None if no size helps."""
        return self.does_not_fit.needed_bytes

    @property
    def available_bytes(self) -> int | None:
        """Size hints of the pools without enough space, in total bytes; None if one has no hint."""
        return self.does_not_fit.available_bytes

    @property
    def smallest_pool_bytes(self) -> Mapping[str, int]:
        """Pool name -> size hint in bytes with which there is a plan.

        It is the smallest one if `is_exact`, else the smallest known one. If `does_not_fit.alone`
        has the hints, one of them is enough; else all are needed. Empty if no size helps.
        """
        return self.does_not_fit.smallest_pool_bytes

    @property
    def is_exact(self) -> bool:
        """Whether `needed_bytes` are the fewest bytes of any plan, by proof."""
        misfit = self.does_not_fit
        proves = isinstance(misfit, LeastNeed) or misfit.algorithm in SEARCHES
        return proves and misfit.is_exact and not self.not_compared

    def for_board(self, board: str, memory: Callable[[str], object]) -> DoesNotFitError:
        """Return the error in words of a board.

        Parameters
        ----------
        board
            name of the board.
        memory
            returns the memory that contains a pool, by its name.
        """
        words = partial(_text_for_board, solution=self._solution, board=board, memory=memory)
        return self._with(words, self.not_compared)

    def after_time_budget(self, not_compared: Collection[str]) -> DoesNotFitError:
        """Return the error of a search that a time budget ended in some stages."""
        words = self.__dict__.get("_words") or (lambda _: str(self))
        return self._with(words, not_compared)

    def _with(
        self, words: Callable[[Misfit], str], not_compared: Collection[str]
    ) -> DoesNotFitError:
        return DoesNotFitError(lambda: self.does_not_fit, self._solution, words, not_compared)

    def __str__(self) -> str:
        self.args = self.args or (self._words(self.does_not_fit) + self._time_advice(),)
        text = str(self.args[0])
        if self.advice:
            text = f"{text.removesuffix('.')}. {self.advice}"
        # C++ keeps only the text of an error, so remember its class and attributes here. The error
        # object itself would keep its traceback alive, and so everything that was compiled.
        state = {name: value for name, value in vars(self).items() if name not in _NOT_OUT_OF_CPP}
        _LAST.set((text, type(self), state))
        return text

    def _time_advice(self) -> str:
        """Return a line about a longer time budget; empty if the budget ended no stage."""
        if not self.not_compared:
            return ""
        stages = ", ".join(STAGES[stage] for stage in stages_in_order(self.not_compared))
        return (
            f"\nThe time budget ended before all choices were compared ({stages}): another one may "
            "fit; please try a longer tir.usmp.time_budget."
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Compute the text first, because the problem and its functions stay in this process."""
        str(self)
        state = {name: value for name, value in vars(self).items() if name not in _UNSAVED}
        return __newobj__, (type(self), *self.args), state


_LAST: ContextVar[tuple[str, type[DoesNotFitError], dict[str, Any]] | None] = ContextVar(
    "usmp_last_misfit", default=None
)
"""Text, class and attributes of the error whose text was read last."""
_NOT_OUT_OF_CPP = ("_misfit", "_words", "__tvm_ffi_error__")
_UNSAVED = (*_NOT_OUT_OF_CPP, "_solution")


class _OutOfCpp:
    """A factory of the error whose text C++ returns; tvm-ffi needs a class.

    It serves passes and algorithms that users call through TVM; `usmp.passes.apply_passes` raises
    the original error itself.
    """

    def __new__(cls, text: str) -> ValueError:  # type: ignore[misc]
        last = _LAST.get()
        # A pass of TVM may have added a paragraph to the text.
        if last is None or not f"{text}\n\n".startswith(f"{last[0]}\n\n"):
            return ValueError(text)
        _, error_class, state = last
        error: DoesNotFitError = __newobj__(error_class, text)
        vars(error).update(state)
        return error


register_error("DoesNotFitError", DoesNotFitError)
register_error("DoesNotFitError", _OutOfCpp)


def _text_for_board(
    misfit: Misfit,
    solution: Solution | None,
    board: str,
    memory: Callable[[str], object],
) -> str:
    """Return the text of buffers that do not fit a board, with advice."""
    if isinstance(misfit, LeastNeed):
        return misfit.text_for_board(board, memory)
    enough = {item.pool: item.bytes for item in (*misfit.alone, *misfit.together)}
    limited = [item.pool for item in misfit.pools if item.pool.limit is not None]
    parts = []
    for pool in limited:
        text = f"{memory(pool.name)} has {pool.limit} bytes for pools"
        if pool.name in enough:
            text += f", {enough[pool.name] - (pool.limit or 0)} too few"
        parts.append(text)
    if solution is not None and limited:
        parts.append(_with_enough_memory(solution, limited[0].name))
    buffer = f'buffer "{misfit.buffer.name}" ({misfit.buffer.size} bytes)'
    return "\n".join(
        [
            f"the model does not fit board {board}: no space for {buffer}",
            *filter(None, parts),
            "Choose other memories, a smaller model, or another tir.usmp.algorithm",
        ]
    )


def _with_enough_memory(solution: Solution, pool: str) -> str:
    """Return a text with the bytes that the pool would need if no pool had a limit, and with the
    largest buffers at its peak; empty if it would need none or no plan is found."""
    problem = solution.problem
    relaxed = replace(problem, pools=tuple(replace(p, limit=None) for p in problem.pools))
    unlimited = solve(
        relaxed,
        # The user waits for the error, so limit the work.
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
        f"With enough memory it would take {unlimited.peaks[pool]} bytes of {pool}, the largest of "
        f"them {largest}"
    )


def text_of(misfit: Misfit) -> str:
    """Return the text of buffers that do not fit, with advice about size hints of pools."""
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
    """Return the line of a candidate pool."""
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
        f'"{buffer.name}" ({buffer.size} bytes'
        + ("" if buffer.offset is None else f" at offset {buffer.offset}")
        + ")"
        for buffer in buffers[:_PROVED_NAMED]
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
    """Return the advice about size hints; empty if none helps."""
    smallest = [limit for limit in misfit.alone if limit.is_smallest]
    enough = [limit for limit in misfit.alone if not limit.is_smallest]
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
