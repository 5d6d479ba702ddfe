"""Write a file so that a reader sees the old content or all of the new, never a part."""

from __future__ import annotations

import errno
import os
from functools import partial
from pathlib import Path

from usmp.support.termination import postponed_signals, undo_at_signal

_KEPT = 50
"""Characters of a file's name in that of the temporary one: no name may have more than 255 bytes,
and a character takes up to four."""


def write_file(path: str | Path, content: bytes) -> None:
    """Replace the file at `path`, or create it; what a symbolic link points at is replaced.

    A file that may not be written is left alone. A device or a pipe cannot be replaced without
    doing harm: `content` is written to it.

    Raises
    ------
    OSError
        the file cannot be written; then an older file of that name is as it was.
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
            # The permissions are those that the umask leaves, which tempfile does not ask for.
            file = temporary.open("xb")
        except OSError as error:
            # It names the temporary file, which the user does not know.
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
