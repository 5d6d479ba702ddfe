"""`tvmc plan --buffers`: place the buffers of any compiler, without a model and without TVM."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from usmp.driver.build.buffers_misfit import misfit
from usmp.driver.build.plan_archive import note_options_of_models
from usmp.driver.errors import UsageError, file_error
from usmp.driver.options.capacities import capacities
from usmp.driver.output import check_output, written
from usmp.driver.terminal.interrupts import deferred_interrupts
from usmp.driver.terminal.progress import ProgressCallback, stages
from usmp.driver.terminal.search import command_deadline, note_interruption, progress_text
from usmp.driver.without_torch import without_torch
from usmp.support.deadline import Deadline, has_passed

if TYPE_CHECKING:
    from usmp_solver.formats.buffers_file import BuffersFile
    from usmp_solver.solution import Solution
    from usmp_solver.solver import Progress

_STDIN = "-"
_WITH_BUFFERS = {
    "help", "buffers", "capacity", "format", "output", "quiet", "usmp_algorithm", "usmp_time_budget"
}  # fmt: skip


def add_buffers_options(parser: argparse.ArgumentParser) -> None:
    """Add `--buffers` and `--capacity`, and store which options apply only to models."""
    buffers = parser.add_argument_group("buffers of another compiler")
    buffers.add_argument(
        "--buffers",
        metavar="FILE",
        help="plan these buffers, not a model: a CSV with the columns id,lower,upper,size and, if "
        "wanted, alignment,pool,offset,gaps; a problem of OmniMalloc; or a memory snapshot or "
        "profile of PyTorch; - is stdin",
    )
    buffers.add_argument(
        "--capacity",
        action="append",
        default=[],
        metavar="[POOL=]BYTES",
        help="bytes that may be used, as 1000, 0x400 or 64K; once for each pool, the most wanted "
        "first (default: the smallest peak)",
    )
    note_options_of_models(parser, _WITH_BUFFERS)


def plan_buffers(options: argparse.Namespace, shown_as: str) -> None:
    """Carry out the command.

    Raises
    ------
    UsageError
        an option belongs to models, or the buffers do not fit.
    ValueError
        the file is no problem, or the algorithm is unknown or takes no time budget.
    KeyboardInterrupt
        Ctrl-C came before there was a plan, or a second time.
    """
    for name, action in options.of_models:
        if getattr(options, action.dest, action.default) != action.default:
            raise UsageError(f"{name} belongs to a model, and --buffers plans without one")
    if options.output is not None:
        check_output(options.output, options.buffers, "the plan", "the buffers")
    capacity = capacities(options.capacity)
    deadline = command_deadline(options, options.usmp_time_budget)
    file = "<stdin>" if options.buffers == _STDIN else options.buffers
    with stages(options) as stage, without_torch():
        data = _read(options.buffers, file)
        stage(f"reading {file}")
        from usmp_solver.formats.buffers_file import parse_buffers

        table = parse_buffers(file, data, capacity)
        solution, interrupted = _solve(table, options.usmp_algorithm or "auto", deadline, stage)
    _show(table, solution, options, shown_as)
    if interrupted:
        note_interruption(options)


def _read(path: str, file: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if path == _STDIN else Path(path).read_bytes()
    except OSError as error:
        raise file_error(error, file) from error


def _solve(
    table: BuffersFile, algorithm: str, deadline: Deadline | None, stage: ProgressCallback
) -> tuple[Solution, bool]:
    """Return the plan, and whether Ctrl-C ended the search for a better one."""
    stage("loading the solver")
    from usmp_solver.solver import SEARCHES, solve

    stage("searching")
    with deferred_interrupts() as interrupted:

        def watch(phase: str, progress: Progress) -> bool:
            stage(progress_text(phase, progress))
            return not (interrupted() or has_passed(deadline))

        solution: Solution = solve(
            table.problem,
            algorithm=algorithm,
            time_budget=None if deadline is None else deadline.search_seconds(),
            progress=partial(watch, "searching"),
        )
        if solution.has_plan:
            is_cut_short = algorithm in SEARCHES and not solution.is_optimal
            return solution, is_cut_short and interrupted()
        # Avoid the exact search here, so that the error message does not take long.
        other: Any = partial(
            solve,
            algorithm="auto" if algorithm == "exact" else algorithm,
            progress=partial(watch, "nothing fits; looking for a capacity that is enough"),
        )
        error = None if interrupted() else misfit(table, solution, algorithm, other)
        if error is None or interrupted():
            raise KeyboardInterrupt
        raise error


def _show(
    table: BuffersFile, solution: Solution, options: argparse.Namespace, shown_as: str
) -> None:
    from usmp.report.solution import print_solution, solution_json, solution_table
    from usmp_solver.formats.csv_writer import write_csv
    from usmp_solver.formats.pytorch import PytorchProblem

    algorithm = options.usmp_algorithm or "auto"
    devices = table.devices if isinstance(table, PytorchProblem) else ()
    recorded = [device.summary() for device in devices]
    if options.output is None and shown_as == "table":
        print_solution(table.file, solution, algorithm, recorded)
        return
    if shown_as == "csv":
        text = write_csv(table, solution)
    elif shown_as == "json":
        text = solution_json(solution, algorithm)
    else:
        text = solution_table(table.file, solution, algorithm, recorded)
    if options.output is None:
        print(text, end="")
        return
    from usmp.codegen.write_file import write_file

    with written(options.output):
        write_file(options.output, text.encode())
