"""`tvmc check`: check that a model fits a board."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from usmp.driver.build.plan_archive import is_archive
from usmp.driver.errors import UsageError
from usmp.driver.inspect.check_places import Place, add_place_options, is_within, places
from usmp.driver.inspect.diff import ENDINGS, FORMATS
from usmp.driver.options.build_options import RARE_IN_PLANS, add_build_options
from usmp.driver.options.model_files import check_is_none_of, check_model_files, note_one_program
from usmp.driver.output import Show, chosen_format, is_read_on_terminal, print_or_write
from usmp.driver.status import NOT_WITHIN
from usmp.driver.terminal.help import add_command
from usmp.driver.terminal.progress import ProgressCallback, add_quiet_option, stages

if TYPE_CHECKING:
    from rich.console import Console

    from usmp.driver.inspect.check_builds import Builds
    from usmp.report.verdicts import Verdict

_EXAMPLES = """\
  tvmc check model.tflite --max-ram 64K --max-flash 512K
      exit status 0 if the model fits, 2 if it does not, with the option that makes it fit
  tvmc check model.tflite --boards nrf52840,stm32f411re
      the same of parts, each with the kernels for its core; all must fit
  tvmc check model.tflite --boards all
      which of the known boards and parts it fits
  tvmc check model.tflite --board-memory mine:ram=96K,flash=256K,core=cortex-m33
      a board of your own
  tvmc check a.tflite b.tflite --max-ram 64K
      two models in one program, which share memory; for one of them alone, name one
  tvmc check model.tar --max-ram 64K --format markdown -o comment.md
      an archive as it is, for a comment on a pull request

Flash is constants and code: the code is compiled for the core where its compiler is installed."""


def add_check_parser(commands: Any) -> None:
    """Add `tvmc check` and its options."""
    parser = add_command(
        commands,
        "check",
        check_fit,
        summary="check that a model fits a board",
        description="Plan a model, compile its C where a compiler for the core is installed, and "
        "say whether RAM and flash suffice; if not, with which option, or which two, they do. "
        "Nothing runs.",
        examples=_EXAMPLES,
    )
    add_place_options(parser.add_argument_group("what it has to fit"))
    first_option = len(parser._actions)
    add_build_options(parser)
    # The boards that a model has to fit are those of --boards.
    parser.make_rare((*RARE_IN_PLANS, "board"))
    parser.set_defaults(
        of_models=[
            (action.option_strings[0] if action.option_strings else action.dest, action)
            for action in parser._actions[first_option:]
        ]
    )
    output = parser.add_argument_group("output files")
    output.add_argument(
        "--no-suggestions",
        action="store_true",
        help="do not look for options with which the model fits",
    )
    output.add_argument(
        "--format",
        choices=FORMATS,
        help="how to show it (default: as the ending of --output says, else table)",
    )
    output.add_argument("-o", "--output", metavar="PATH", help="the file to write, not stdout")
    add_quiet_option(output)


def check_fit(options: argparse.Namespace) -> int:
    """Carry out `tvmc check`, and return the exit status: 0 if the model fits."""
    all_places = places(options)
    if options.board is not None:
        raise UsageError("--board says what to build for; name boards to fit in --boards")
    if options.export_state_layout is not None:
        raise UsageError("--export-state-layout belongs to tvmc compile and tvmc plan")
    if options.output is not None:
        check_is_none_of(options.output, options, "the verdict")
    check_model_files(options)
    from usmp.driver.inspect.check_builds import Builds

    with stages(options) as stage, _shared_builds(options):
        builds = Builds(options, stage)
        verdicts: list[Verdict] = []
        for place in all_places:
            builds.remaining = len(all_places) - len(verdicts)
            verdicts.append(builds.verdict(place))
        fitting = [(p, verdict.fits) for p, verdict in zip(all_places, verdicts, strict=True)]
        does_fit = is_within(options, fitting)
        if not (does_fit or options.no_suggestions or builds.is_archive):
            verdicts = _with_suggestions(options, builds, stage, all_places, verdicts)
    _show(options, verdicts, does_fit)
    if not does_fit and not is_read_on_terminal(options):
        _tell_misfits(options, verdicts)
    return 0 if does_fit else NOT_WITHIN


def _shared_builds(options: argparse.Namespace) -> AbstractContextManager[object]:
    """Return a context in which builds share what they have in common. Archives load no TVM."""
    if is_archive(options):
        return nullcontext()
    from usmp.planning.session import planning_session

    return planning_session()


def _with_suggestions(
    options: argparse.Namespace,
    builds: Builds,
    stage: ProgressCallback,
    all_places: Sequence[Place],
    verdicts: Sequence[Verdict],
) -> list[Verdict]:
    """Return the verdicts, those that memory makes no with what makes the model fit."""
    from usmp.driver.inspect.check_suggestions import Suggestions

    suggested = Suggestions(options, builds, stage)
    return [
        v if v.fits or not v.is_memory_short else replace(v, fitting=suggested.fitting(place, v))
        for place, v in zip(all_places, verdicts, strict=True)
    ]


def _tell_misfits(options: argparse.Namespace, verdicts: Sequence[Verdict]) -> None:
    """Print a line on stderr for each place that the model does not fit, for logs of CI."""
    from usmp.report.verdicts import misfit_sentence

    for verdict in verdicts:
        if not verdict.fits:
            print(f"tvmc: {misfit_sentence(verdict)}", file=options.stderr)


def _show(options: argparse.Namespace, verdicts: Sequence[Verdict], does_fit: bool) -> None:
    from usmp.report.verdicts import markdown_verdicts, print_verdicts, verdicts_json

    file = ", ".join(options.FILE)
    title = f"Does {file} fit?"
    shown_as = chosen_format(options, ENDINGS)
    content: str | Show

    def show(console: Console | None) -> None:
        from rich.console import Console

        print_verdicts(title, verdicts, console or Console(highlight=False))

    note_one_program(options, "check", None if options.output is not None else shown_as)
    if shown_as == "json":
        content = verdicts_json(file, does_fit, verdicts)
    elif shown_as == "markdown":
        content = markdown_verdicts(title, verdicts)
    else:
        content = show
    print_or_write(options.output, content, is_last=does_fit)
