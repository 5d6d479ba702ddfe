"""Write a file so that a reader sees the old content or all of the new, never a part."""

from __future__ import annotations

import errno
import os
import tempfile
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
    with postponed_signals():
        prefix = f".{path.name[:_KEPT]}."
        try:
            descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=prefix)
        except OSError as error:
            # It names the temporary file, which the user does not know.
            raise type(error)(error.errno, error.strerror, str(path)) from None
        remove = partial(Path(temporary).unlink, missing_ok=True)
        forget = undo_at_signal(remove)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        remove()
        raise
    finally:
        forget()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
