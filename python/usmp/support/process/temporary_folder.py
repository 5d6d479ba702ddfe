"""Temporary folders, which are removed also if a signal ends the process."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from usmp.support.process.termination import postponed_signals, undo_at_signal


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yield a new folder that is removed at the end, also if a signal ends the process.

    Raises
    ------
    OSError
        the folder cannot be created.
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
