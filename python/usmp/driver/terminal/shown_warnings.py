"""Print warnings for users as a line on stderr, without the position in the code."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from usmp.support.compatibility import CompatibilityNote, CompatibilityWarning
from usmp.support.model_warning import ModelWarning
from usmp.support.text.plain_text import printable


@contextmanager
def shown_warnings(
    options: argparse.Namespace, stderr: TextIO, program: str = "tvmc"
) -> Iterator[None]:
    """Collect warnings about models and names of TVM 0.18, and print them on `stderr` at the end.

    `show_waiting_warnings` prints them earlier. A warning about a name is printed once, and not at
    all if the command fails. With `--quiet`, print only names whose meaning changed.
    """
    show = warnings.showwarning
    seen: set[str] = set()
    options.waiting_warnings = waiting = list[tuple[type[Warning], str]]()
    is_quiet = bool(getattr(options, "quiet", False))

    def tell(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if not issubclass(category, ModelWarning | CompatibilityNote):
            show(message, category, *place, **more)
        elif issubclass(category, CompatibilityNote) and str(message) in seen:
            return
        elif issubclass(category, CompatibilityWarning) or not is_quiet:
            seen.add(str(message))
            kind = "note" if category is CompatibilityNote else "warning"
            waiting.append((category, f"{program}: {kind}: {printable(str(message))}"))

    with warnings.catch_warnings():
        warnings.simplefilter("always", ModelWarning)
        warnings.simplefilter("always", CompatibilityNote)
        warnings.showwarning = tell
        try:
            yield
        except BaseException:
            # Drop notes about names, because they would distract from the error.
            waiting[:] = [warning for warning in waiting if issubclass(warning[0], ModelWarning)]
            raise
        finally:
            show_waiting_warnings(options, stderr)


def print_notes(options: argparse.Namespace, notes: Iterable[str]) -> None:
    """Print notes on stderr, each on a line as that of a warning; none with `--quiet`. Call it
    while no stage is shown on the terminal."""
    if not options.quiet:
        for note in notes:
            print(f"tvmc: note: {printable(note)}", file=options.stderr, flush=True)


def show_waiting_warnings(options: argparse.Namespace, stderr: TextIO) -> None:
    """Print the waiting warnings. Call it while no stage is shown on the terminal."""
    waiting: list[tuple[type[Warning], str]] = getattr(options, "waiting_warnings", [])
    for _, line in waiting:
        print(line, file=stderr, flush=True)
    waiting.clear()
