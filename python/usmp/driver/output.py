"""Files that commands write: the whole of one, or none."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from usmp.driver.errors import UsageError


def check_output(path: str, model: str, what: str) -> None:
    """Refuse to write `what` over the model.

    Raises
    ------
    UsageError: it is the same file.
    """
    if os.path.realpath(path) == os.path.realpath(model):
        raise UsageError(f"{path}: {what} would overwrite the model")


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
