"""Errors of commands, and of the functions that Python has for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from usmp.support.tvmc_exception import TVMCException


class UsageError(TVMCException, ValueError):
    """A command line or an argument is wrong; the message names it."""


class MissingFileError(UsageError, FileNotFoundError):
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
        where = f"{error.filename}: " if error.filename is not None else ""
        raise file_error(error, f"{where}{error.strerror or error}") from error


def file_error(error: OSError, message: str) -> UsageError:
    """Return the error with this message for one of the system."""
    is_missing = isinstance(error, FileNotFoundError)
    return MissingFileError(message) if is_missing else UsageError(message)
