"""`tvmc plan --buffers`: place the buffers of any compiler, without a model and without TVM."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from usmp.driver.build.buffers_misfit import misfit
from usmp.driver.build.plan_archive import note_options_of_models
from usmp.driver.errors import UsageError, file_error
from usmp.driver.options.capacities import capacities
from usmp.driver.output import Show, check_output, print_or_write
from usmp.driver.terminal.help import HELP_DESTINATIONS
from usmp.driver.terminal.progress import stages
from usmp.driver.terminal.search import command_deadline, note_interruption, search_plan
from usmp.driver.without_torch import without_torch

if TYPE_CHECKING:
    from usmp_solver import Problem, Solution
    from usmp_solver.formats.buffers_file import BuffersFile

_STDIN = "-"
_WITH_BUFFERS = {
    *HELP_DESTINATIONS,
    *("buffers", "capacity", "format", "output", "quiet", "usmp_algorithm", "usmp_time_budget"),
}


def add_buffers_options(parser: argparse.ArgumentParser) -> None:
    """Add `--buffers` and `--capacity`, and store which options apply only to models."""
    buffers = parser.add_argument_group("buffers of another compiler")
    buffers.add_argument(
        "--buffers",
        metavar="FILE",
        help="plan the buffers of a CSV (id,lower,upper,size), a problem of OmniMalloc, or a "
        "memory snapshot or profile of PyTorch; - is stdin",
    )
    buffers.add_argument(
        "--capacity",
        action="append",
        default=[],
        metavar="[POOL=]BYTES",
        help="the bytes that each pool has, as 64K, the most wanted pool first (default: the "
        "smallest peak)",
    )
    note_options_of_models(parser, _WITH_BUFFERS)


def plan_buffers(options: argparse.Namespace, shown_as: str) -> None:
    """Carry out `tvmc plan --buffers`.

    Raises
    ------
    UsageError
        an option belongs to models, or the buffers do not fit.
    ValueError
        the file is no problem, or the algorithm is unknown or takes no time budget.
    KeyboardInterrupt
        Ctrl-C came before there was a plan, or came twice.
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
        algorithm = options.usmp_algorithm or "auto"

        def refusal(solution: Solution, trial: Callable[[Problem], Solution]) -> UsageError:
            return misfit(table, solution, algorithm, trial)

        solution, interrupted = search_plan(table.problem, algorithm, deadline, stage, refusal)
    _show(table, solution, options, shown_as)
    if interrupted:
        note_interruption(options)


def _read(path: str, file: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if path == _STDIN else Path(path).read_bytes()
    except OSError as error:
        raise file_error(error, file) from error


def _show(
    table: BuffersFile, solution: Solution, options: argparse.Namespace, shown_as: str
) -> None:
    from usmp.report.solution import print_solution, solution_json
    from usmp_solver.formats.csv_writer import write_csv
    from usmp_solver.formats.pytorch import PytorchProblem

    algorithm = options.usmp_algorithm or "auto"
    devices = table.devices if isinstance(table, PytorchProblem) else ()
    recorded = [device.summary() for device in devices]
    content: str | Show = partial(print_solution, table.file, solution, algorithm, recorded)
    if shown_as == "csv":
        content = write_csv(table, solution)
    elif shown_as == "json":
        content = solution_json(solution, algorithm)
    print_or_write(options.output, content)
