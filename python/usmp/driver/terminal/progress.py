"""Progress of a command, shown on a terminal while it lasts."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from usmp.driver.terminal.shown_warnings import show_waiting_warnings
from usmp.support.process.termination import undo_at_signal

ProgressCallback: TypeAlias = Callable[[str], None]
"""Shows the stage that begins, such as "planning"."""

_RESTORED = b"\r\x1b[2K\x1b[?25h"
"""Control sequence of a terminal that clears the line and shows the cursor."""

_PLANNER = "usmp.UnifiedStaticMemoryPlanner"


def add_quiet_option(parser: argparse._ActionsContainer) -> None:
    """Add `--quiet`."""
    parser.add_argument(
        "-q",
        "--quiet",
        action="store_true",
        help="print only what was asked for, warnings and errors",
    )


def silent(what: str) -> None:
    """Ignore a stage, as the `ProgressCallback` without a terminal or with `--quiet`."""


@contextmanager
def stages(options: argparse.Namespace) -> Iterator[ProgressCallback]:
    """Yield a function that shows a stage on stderr, if it is a terminal and without `--quiet`.

    At the end, clear the line and print waiting warnings. Print to stdout only afterwards.
    """
    with _shown_stages(options) as stage:
        yield stage
    show_waiting_warnings(options, options.stderr)


@contextmanager
def _shown_stages(options: argparse.Namespace) -> Iterator[ProgressCallback]:
    if options.quiet or not options.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.live import Live
    from rich.spinner import Spinner
    from rich.text import Text

    # Use an ASCII spinner, because the terminal may lack other characters.
    spinner = Spinner("line")
    forget = undo_at_signal(lambda: os.write(options.stderr.fileno(), _RESTORED))
    try:
        with Live(
            spinner,
            console=Console(file=options.stderr),
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        ):
            yield lambda what: spinner.update(text=Text(f"{what} ..."))
    finally:
        forget()


@contextmanager
def planning_stage(stage: ProgressCallback) -> Iterator[None]:
    """Instrument the current pass context to show the stage "planning" when the planner starts."""
    if stage is silent:
        yield
        return
    from tvm.ir.instrument import PassInstrument
    from tvm.ir.transform import PassContext

    class Planning(PassInstrument):  # type: ignore[misc]
        def run_before_pass(self, mod: object, info: object) -> None:
            if getattr(info, "name", "") == _PLANNER:
                stage("planning")

    context = PassContext.current()
    context.override_instruments([*context.instruments, Planning()])
    yield
