"""`tvmc plan --emit-tflm`: add offsets for the arena of TFLite Micro to a model, without TVM."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from usmp.driver.errors import UsageError
from usmp.driver.options.import_options import import_arguments
from usmp.driver.options.model_files import check_is_none_of
from usmp.driver.output import Show, check_output, check_readable, print_or_write, written
from usmp.driver.terminal.progress import stages
from usmp.driver.terminal.search import command_deadline, note_interruption, search_plan
from usmp.driver.without_torch import without_torch
from usmp.support.text.plain_text import shown

if TYPE_CHECKING:
    from usmp_solver import Problem, Solution

_ENDING = ".tflite"
_FILE = "the model with offsets"
_WITH_TFLM = {"FILE", "emit_tflm", "max_model_bytes", "max_operators"}
"""Options of models that have a meaning with `--emit-tflm`."""


def add_tflm_option(group: Any) -> None:
    """Add `--emit-tflm`."""
    group.add_argument(
        "--emit-tflm",
        metavar="PATH",
        help="plan the arena of TFLite Micro, and write the .tflite model with the offsets that it "
        "takes",
    )


def plan_tflm(options: argparse.Namespace, shown_as: str) -> None:
    """Carry out `tvmc plan --emit-tflm`.

    Raises
    ------
    UsageError
        an option has no meaning for TFLite Micro, or a file cannot be read or written.
    UnsupportedModelError
        the model is damaged, or its arena cannot be planned.
    ValueError
        the algorithm is unknown or takes no time budget.
    KeyboardInterrupt
        Ctrl-C came before there was a plan, or came twice.
    """
    path = _check_options(options)
    algorithm = options.usmp_algorithm or "auto"
    deadline = command_deadline(options, options.usmp_time_budget)
    interruptions: list[bool] = []
    with stages(options) as stage, without_torch():
        stage(f"reading {path}")
        from usmp.frontend.model_file import read_model_file
        from usmp.frontend.tflite.arena.offline_plan import plan_offline
        from usmp.relax.limits import MODEL_BYTES, OPERATORS, Limits

        limits = Limits(options.max_model_bytes or MODEL_BYTES, options.max_operators or OPERATORS)

        def solve(problem: Problem) -> Solution:
            solution, interrupted = search_plan(problem, algorithm, deadline, stage)
            interruptions.append(interrupted)
            return solution

        plan = read_model_file(
            path, {_ENDING: lambda content, _: plan_offline(content, solve, limits)}
        )
    from usmp.codegen.write_file import write_file

    with written(options.emit_tflm, is_last=options.output is None):
        write_file(options.emit_tflm, plan.content)
    if plan.replaced:
        print(
            f"tvmc: {shown(path)} had offsets for TFLite Micro; {shown(options.emit_tflm)} has "
            "these in their place",
            file=options.stderr,
        )
    _show(path, plan.solution, algorithm, options.output, shown_as)
    if any(interruptions):
        note_interruption(options)


def _check_options(options: argparse.Namespace) -> str:
    """Return the path of the model. Check the options first, because TVM takes seconds to load."""
    for name, action in options.of_models:
        if action.dest in _WITH_TFLM:
            continue
        if getattr(options, action.dest, action.default) != action.default:
            raise UsageError(
                f"{name} has no meaning for TFLite Micro, which has one arena and kernels of its "
                "own; leave it or --emit-tflm out"
            )
    import_arguments(options)
    if len(options.FILE) != 1 or Path(options.FILE[0]).suffix.lower() != _ENDING:
        raise UsageError(
            f"--emit-tflm is for one {_ENDING} model, not for {', '.join(map(shown, options.FILE))}"
        )
    (path,) = options.FILE
    check_readable(path)
    check_is_none_of(options.emit_tflm, options, _FILE)
    if options.output is not None:
        check_output(options.output, options.emit_tflm, "the plan", _FILE)
    return str(path)


def _show(path: str, solution: Solution, algorithm: str, output: str | None, shown_as: str) -> None:
    from usmp.report.solution import print_solution, solution_csv, solution_json

    content: str | Show = partial(print_solution, path, solution, algorithm, ())
    if shown_as == "csv":
        content = solution_csv(solution)
    elif shown_as == "json":
        content = solution_json(solution, algorithm)
    print_or_write(output, content)
