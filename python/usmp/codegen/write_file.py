"""Atomic writes of files: a reader sees the old content or the whole new content."""

from __future__ import annotations

import errno
import os
from functools import partial
from pathlib import Path

from usmp.support.process.termination import postponed_signals, undo_at_signal

_KEPT = 50
"""Most characters of the file's name in the temporary file's name, because file systems allow 255
bytes, and a character has up to four."""


def write_file(path: str | Path, content: bytes) -> None:
    """Replace or create the file at `path`; if it is a symbolic link, replace the link's target.

    A read-only file is not replaced. Devices and pipes are written to, because replacing them would
    do harm.

    Raises
    ------
    OSError
        the file cannot be written; an older file is unchanged.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        path.write_bytes(content)
        return
    path = Path(os.path.realpath(path))
    if path.exists() and not os.access(path, os.W_OK, effective_ids=True):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    temporary = path.with_name(f".{path.name[:_KEPT]}.{os.urandom(8).hex()}")
    with postponed_signals():
        try:
            # Open a file of our own, because tempfile ignores the umask.
            file = temporary.open("xb")
        except OSError as error:
            # Name the user's file instead of the temporary one.
            raise type(error)(error.errno, error.strerror, str(path)) from None
        remove = partial(temporary.unlink, missing_ok=True)
        forget = undo_at_signal(remove)
    try:
        with file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        remove()
        raise
    finally:
        forget()
