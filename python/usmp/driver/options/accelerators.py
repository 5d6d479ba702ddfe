"""Extensions of the user, and notes about accelerators that are not used."""

from __future__ import annotations

import argparse
import runpy
from collections.abc import Sequence
from typing import Any

from usmp.driver.errors import UsageError, file_error
from usmp.driver.terminal.help import Rare


def add_extension_option(parser: argparse._ActionsContainer, is_rare: bool = False) -> None:
    """Add `--extension`."""
    text = (
        "run this Python file first; it may register algorithms, and patterns of accelerators for "
        "--target; may be repeated"
    )
    parser.add_argument(
        "--extension",
        action="append",
        default=[],
        metavar="FILE.py",
        help=Rare(text) if is_rare else text,
    )


def load_extensions(paths: Sequence[str]) -> None:
    """Run the user's Python files.

    Raises
    ------
    UsageError
        a file is missing, or raises an error.
    """
    for path in paths:
        try:
            runpy.run_path(path)
        except OSError as error:
            raise file_error(error, f"--extension {path}") from error
        except (Exception, SystemExit) as error:
            raise UsageError(f"--extension {path} failed: {error}") from error


def note_unused_accelerators(target: str, factory: Any) -> list[str]:
    """Return a note for each accelerator that runs no operator.

    Parameters
    ----------
    target
        value of `--target`.
    factory
        the `AOTExecutorFactoryModule` that was built for the target.
    """
    from usmp.objects.target.targets import parse_targets
    from usmp.relax.accelerators import patterns_of

    used = {str(function.accelerator) for function in factory.interface.accelerator_functions}
    return [
        f"no operator is taken by target {name}: "
        + (
            "its patterns match nothing"
            if patterns_of(name)
            else "no patterns are registered for it"
        )
        for name in parse_targets(target, takes_executor_options=True).accelerators
        if name not in used
    ]
