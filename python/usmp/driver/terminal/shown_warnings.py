"""Warnings for users are a line on stderr, without the place in the code that warns."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from usmp.support.compatibility import CompatibilityNote, CompatibilityWarning
from usmp.support.model_warning import ModelWarning
from usmp.support.plain_text import printable


@contextmanager
def shown_warnings(options: argparse.Namespace, stderr: TextIO) -> Iterator[None]:
    """Write warnings about models and names of TVM 0.18 to `stderr`; with `--quiet` only those
    about names that mean something else now. What a name of TVM 0.18 means is told once, however
    many builds a command makes, and not at all if the command fails; warnings about models are.

    They wait for `show_waiting_warnings`, or for the end.
    """
    show = warnings.showwarning
    told: set[str] = set()
    options.waiting_warnings = waiting = list[tuple[type[Warning], str]]()
    is_quiet = bool(getattr(options, "quiet", False))

    def tell(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if not issubclass(category, ModelWarning | CompatibilityNote):
            show(message, category, *place, **more)
        elif issubclass(category, CompatibilityNote) and str(message) in told:
            return
        elif issubclass(category, CompatibilityWarning) or not is_quiet:
            told.add(str(message))
            kind = "note" if category is CompatibilityNote else "warning"
            waiting.append((category, f"tvmc: {kind}: {printable(str(message))}"))

    with warnings.catch_warnings():
        warnings.simplefilter("always", ModelWarning)
        warnings.simplefilter("always", CompatibilityNote)
        warnings.showwarning = tell
        try:
            yield
        except BaseException:
            # The error is about something else: notes would only lead away from it.
            waiting[:] = [each for each in waiting if issubclass(each[0], ModelWarning)]
            raise
        finally:
            show_waiting_warnings(options, stderr)


def show_waiting_warnings(options: argparse.Namespace, stderr: TextIO) -> None:
    """Write the warnings so far; call it where no stage is shown on the terminal."""
    waiting: list[tuple[type[Warning], str]] = getattr(options, "waiting_warnings", [])
    for _, line in waiting:
        print(line, file=stderr, flush=True)
    waiting.clear()
