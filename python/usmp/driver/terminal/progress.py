"""What is being done, shown on a terminal for as long as it lasts."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from usmp.driver.terminal.shown_warnings import show_waiting_warnings
from usmp.support.termination import undo_at_signal

ProgressCallback: TypeAlias = Callable[[str], None]
"""Shows the user what begins now, as "planning"."""

_RESTORED = b"\r\x1b[2K\x1b[?25h"
"""For a terminal: the line is empty, and the cursor is back."""

_PLANNER = "usmp.UnifiedStaticMemoryPlanner"


def add_quiet_option(parser: argparse._ActionsContainer) -> None:
    """Add `--quiet`."""
    parser.add_argument(
        "-q",
        "--quiet",
        action="store_true",
        help="show no progress, no summary and no notes: only what was asked for, errors, and "
        "warnings that an option means something else than in TVM 0.18",
    )


def silent(what: str) -> None:
    """The stage where nothing is shown."""


@contextmanager
def stages(options: argparse.Namespace) -> Iterator[ProgressCallback]:
    """Yield what shows a stage on the user's stderr, if that is a terminal and `--quiet` is
    not given; the line is gone at the end, and warnings follow. Stdout is left alone: print to it
    afterwards.
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

    # In ASCII: the terminal may show nothing else.
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
    """Call the stage "planning" when the planner begins, in the current pass context."""
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
