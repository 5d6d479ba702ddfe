"""Errors of commands, and of the functions that Python has for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from usmp.support.tvmc_exception import TVMCException


class UsageError(TVMCException, ValueError):
    """A command line or an argument is wrong; the message names it."""


class MissingFileError(FileNotFoundError, UsageError):
    """A file is missing, or the folder to write it to."""


@contextmanager
def tvmc_exceptions() -> Iterator[None]:
    """Let `except TVMCException` catch every ValueError and OSError that the code inside raises.

    Raises
    ------
    UsageError
        in the place of another ValueError, with its text, or of an OSError, with the file.
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
    """Return the error of a command for one of the system.

    Parameters
    ----------
    error
        of the system.
    path
        of the file, or where it is named; None if it is not known.
    problem
        what is wrong with it; by default what the system says.
    """
    where = "" if path is None else f"{path}: "
    message = f"{where}{problem or error.strerror or error}"
    is_missing = isinstance(error, FileNotFoundError)
    return MissingFileError(message) if is_missing else UsageError(message)
