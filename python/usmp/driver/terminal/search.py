"""Searches with a time budget or without a limit: their progress, and Ctrl-C, which ends them."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from usmp.driver.errors import UsageError
from usmp.driver.terminal.interrupts import deferred_interrupts
from usmp.driver.terminal.progress import ProgressCallback
from usmp.names import ALGORITHMS
from usmp.support.deadline import Deadline, deadline_after, earliest, has_passed
from usmp.support.text.durations import parse_duration
from usmp.support.text.known_names import unknown_name

if TYPE_CHECKING:
    from usmp.algorithms.search import Watch
    from usmp_solver import Problem, Progress, Solution


def add_time_budget_option(parser: argparse._ActionsContainer) -> None:
    """Add `--usmp-time-budget`."""
    parser.add_argument(
        "--usmp-time-budget",
        metavar="TIME",
        type=_duration,
        help="end all searches this long after the start, such as 10s, and take the best plan "
        "found, as ctrl-C does",
    )


def command_deadline(options: argparse.Namespace, budget: str | None) -> Deadline | None:
    """Return the deadline of the searches of a build; None if there is no time budget.

    Parameters
    ----------
    options
        options of the command, with optional attributes: `start_seconds`, the start of the command;
        `remaining_builds`, which share the remaining time; `deadline`, another deadline.
    budget
        time budget of the command, such as "10s".
    """
    deadline = deadline_after(budget, getattr(options, "start_seconds", None))
    if deadline is not None:
        deadline = deadline.share(getattr(options, "remaining_builds", 1))
    return earliest(deadline, getattr(options, "deadline", None))


def time_budget(options: argparse.Namespace) -> str | None:
    """Return the time budget for all builds of a command, from its options."""
    budget: str | None = options.usmp_time_budget
    for setting in options.pass_config:
        name, _, value = setting.partition("=")
        budget = value if name == "tir.usmp.time_budget" else budget
    return budget


@contextmanager
def watched_search(config: Any, stage: ProgressCallback) -> Iterator[None]:
    """Show the progress of searches that only time or a proof ends, and let Ctrl-C end them.

    The first Ctrl-C keeps the best plan found until then, and a second Ctrl-C aborts. Searches with
    a fixed amount of work are aborted by the first.
    """
    from usmp.algorithms import watched

    if "tir.usmp.time_budget" not in config and config.get("tir.usmp.algorithm") != "exact":
        yield
        return

    @contextmanager
    def watching() -> Iterator[Watch]:
        started = time.monotonic()
        with deferred_interrupts() as interrupted:

            def watch(progress: Progress) -> bool:
                seconds = time.monotonic() - started
                stage(f"{progress_text('planning', progress)}, {seconds:.0f} s")
                return not interrupted()

            try:
                yield watch
            except ValueError:
                if interrupted():
                    raise KeyboardInterrupt from None  # There was no plan yet.
                raise

    with watched(watching):
        yield


def search_plan(
    problem: Problem,
    algorithm: str,
    deadline: Deadline | None,
    stage: ProgressCallback,
    refusal: Callable[[Solution, Callable[[Problem], Solution]], Exception] | None = None,
) -> tuple[Solution, bool]:
    """Return the plan of a problem, and whether Ctrl-C ended the search for a better one.

    Parameters
    ----------
    refusal
        function that returns the error for a solution without a plan, after further searches.

    Raises
    ------
    UsageError
        there is no algorithm of this name.
    KeyboardInterrupt
        Ctrl-C came before there was a plan, or there is neither a plan nor a `refusal`.
    Exception
        there is no plan; `refusal` returned this error.
    """
    if algorithm not in ALGORITHMS:
        what = f'unknown algorithm "{algorithm}"'
        raise UsageError(unknown_name(what, algorithm, ALGORITHMS, "Algorithms"))
    stage("loading the solver")
    from usmp_solver.solver import SEARCHES, solve

    stage("searching")
    with deferred_interrupts() as interrupted:

        def watch(phase: str, progress: Progress) -> bool:
            stage(progress_text(phase, progress))
            return not (interrupted() or has_passed(deadline))

        solution: Solution = solve(
            problem,
            algorithm=algorithm,
            time_budget=None if deadline is None else deadline.search_seconds(),
            progress=partial(watch, "searching"),
        )
        if solution.has_plan:
            is_cut_short = algorithm in SEARCHES and not solution.is_optimal
            return solution, is_cut_short and interrupted()
        error: BaseException = KeyboardInterrupt()
        if refusal is not None and not interrupted():
            # Avoid the exact search here, so that the error message does not take long.
            other = "auto" if algorithm == "exact" else algorithm
            progress = partial(watch, "nothing fits; looking for a capacity that is enough")
            error = refusal(solution, partial(solve, algorithm=other, progress=progress))
        raise KeyboardInterrupt if interrupted() else error


def note_interrupted_search(options: argparse.Namespace, factory: Any) -> None:
    """Print a note on stderr if Ctrl-C ended the search."""
    if factory.memory_plan.search_ended_by == "interrupt":
        note_interruption(options)


def note_interruption(options: argparse.Namespace) -> None:
    """Print a note on stderr that Ctrl-C ended the search."""
    print(
        "tvmc: the search was interrupted; this is the best plan that it found until then",
        file=options.stderr,
    )


def progress_text(what: str, progress: Progress) -> str:
    """Return the text of a stage, with the peak and the lower bound of its search in bytes."""
    peak = "no plan yet" if progress.peak is None else f"peak {progress.peak}"
    return f"{what}: {peak}, lower bound {progress.lower_bound}"


def _duration(text: str) -> str:
    try:
        parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text
