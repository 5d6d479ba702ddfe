"""Errors that are for the user: one clear message, no traceback on the command line."""

from __future__ import annotations

from tvm_ffi import register_error


class UnsupportedModelError(ValueError):
    """The model has something that cannot be imported or lowered; the message names it."""


class FaultError(RuntimeError):
    """usmp itself fails; the message says at what, and `__cause__` is how."""


# Else they would come out of a walk or a pass, which C++ calls, as a RuntimeError.
register_error("UnsupportedModelError", UnsupportedModelError)
register_error("FaultError", FaultError)
