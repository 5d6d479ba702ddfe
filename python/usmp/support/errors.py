"""Errors for the user: one clear message, no traceback on the command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tvm_ffi import register_error

from usmp.support.process.address_space import out_of_memory
from usmp.support.tvmc_exception import TVMCException


class UnsupportedModelError(TVMCException, ValueError):
    """The model has a part that cannot be imported or lowered; the message names it."""

    def __init_subclass__(cls) -> None:
        """Register the class, so that C++ keeps it; C++ passes only the message."""
        super().__init_subclass__()
        if cls.__module__.startswith("usmp."):
            register_error(cls)


@contextmanager
def naming_file(path: str | Path | None) -> Iterator[None]:
    """Prefix each message about a model with its file.

    Parameters
    ----------
    path
        the file; None if the model does not come from one file.

    Raises
    ------
    UnsupportedModelError
        an error that was raised within the context, with the same class.
    """
    try:
        yield
    except UnsupportedModelError as error:
        if path is None or str(error).startswith(f"{path}: "):
            raise
        raise type(error)(f"{path}: {error}") from error


class FaultError(TVMCException, RuntimeError):
    """usmp itself fails; the message names the step, and `__cause__` is the reason."""


class OutOfMemoryError(MemoryError, TVMCException):
    """The machine has too little memory; the message names the step and, if known, the operator."""

    @classmethod
    def at(cls, step: str, error: Exception) -> OutOfMemoryError:
        """Return the error for a failed allocation.

        Parameters
        ----------
        step
            the failed step, such as "to plan the memory".
        error
            the error of the allocation.
        """
        reason = f" ({error})" if isinstance(error, MemoryError) and str(error) else ""
        return cls(out_of_memory(f"{step}{reason}"))


# Register them, because C++ would turn unknown errors in walks and passes into RuntimeErrors.
register_error("UnsupportedModelError", UnsupportedModelError)
register_error("FaultError", FaultError)
register_error("OutOfMemoryError", OutOfMemoryError)
