"""Folders that are there only while something is made."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from usmp.support.termination import postponed_signals, undo_at_signal


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder of its own, which is gone at the end, also at the end that a signal makes.

    Raises
    ------
    OSError
        it cannot be made.
    """
    with postponed_signals():
        directory = tempfile.mkdtemp(prefix="usmp-")
        remove = partial(shutil.rmtree, directory, ignore_errors=True)
        forget = undo_at_signal(remove)
    try:
        yield Path(directory)
    finally:
        remove()
        forget()
