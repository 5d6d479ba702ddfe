"""Errors of commands, and of their Python functions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from usmp.support.tvmc_exception import TVMCException


class UsageError(TVMCException, ValueError):
    """An error in a command line or an argument, which the message names."""


class MissingFileError(FileNotFoundError, UsageError):
    """A missing file, or a missing folder to write a file to."""


@contextmanager
def tvmc_exceptions() -> Iterator[None]:
    """Convert every ValueError and OSError of the body, so that `except TVMCException` catches it.

    Raises
    ------
    UsageError
        replaces a ValueError, with its text, or an OSError, with the name of the file.
    """
    try:
        yield
    except TVMCException:
        raise
    except ValueError as error:
        raise UsageError(str(error)) from error
    except OSError as error:
        raise file_error(error, error.filename) from error


def file_error(error: OSError, path: object, problem: str = "") -> UsageError:
    """Return the error of a command for an error of the operating system.

    Parameters
    ----------
    error
        error of the operating system.
    path
        path of the file, or the option that names it; None if unknown.
    problem
        description of the error; by default the text of the operating system.
    """
    where = "" if path is None else f"{path}: "
    message = f"{where}{problem or error.strerror or error}"
    is_missing = isinstance(error, FileNotFoundError)
    return MissingFileError(message) if is_missing else UsageError(message)
