"""Files that commands write: the whole of one, or none."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from usmp.driver.errors import UsageError


def check_output(path: str, read: str, what: str, read_as: str = "the model") -> None:
    """Refuse to write `what` over a file that the command reads.

    Raises
    ------
    UsageError: it is the same file, or the path is empty.
    """
    if not path:
        raise UsageError(f"the path for {what} is empty; name a file")
    if os.path.realpath(path) == os.path.realpath(read):
        raise UsageError(f"{path}: {what} would overwrite {read_as}")


@contextmanager
def written(path: str) -> Iterator[None]:
    """Say which file could not be written.

    Raises
    ------
    UsageError: the body raised an `OSError`.
    """
    try:
        yield
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror})") from error
