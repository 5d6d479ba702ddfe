"""Errors that are for the user: one clear message, no traceback on the command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tvm_ffi import register_error

from usmp.support.address_space import out_of_memory
from usmp.support.tvmc_exception import TVMCException


class UnsupportedModelError(TVMCException, ValueError):
    """The model has something that cannot be imported or lowered; the message names it."""

    def __init_subclass__(cls) -> None:
        """Let the class come out of C++, which gives it the text alone."""
        super().__init_subclass__()
        if cls.__module__.startswith("usmp."):
            register_error(cls)


@contextmanager
def naming_file(path: str | Path | None) -> Iterator[None]:
    """Begin each message about a model with its file.

    Parameters
    ----------
    path
        the file; None if the model is not of one file.

    Raises
    ------
    UnsupportedModelError
        what is raised within, of the same class.
    """
    try:
        yield
    except UnsupportedModelError as error:
        if path is None or str(error).startswith(f"{path}: "):
            raise
        raise type(error)(f"{path}: {error}") from error


class FaultError(TVMCException, RuntimeError):
    """usmp itself fails; the message says at what, and `__cause__` is how."""


class OutOfMemoryError(MemoryError, TVMCException):
    """The machine has too little memory; the message names the step and, if known, the operator."""

    @classmethod
    def at(cls, step: str, error: Exception) -> OutOfMemoryError:
        """Return the error for a failed allocation.

        Parameters
        ----------
        step
            what usmp did, as "to plan the memory".
        error
            how the allocation failed.
        """
        reason = f" ({error})" if isinstance(error, MemoryError) and str(error) else ""
        return cls(out_of_memory(f"{step}{reason}"))


# Else they would come out of a walk or a pass, which C++ calls, as a RuntimeError.
register_error("UnsupportedModelError", UnsupportedModelError)
register_error("FaultError", FaultError)
register_error("OutOfMemoryError", OutOfMemoryError)
