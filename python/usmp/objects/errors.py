"""Errors that are for the user: one clear message, no traceback on the command line."""

from __future__ import annotations


class UnsupportedModelError(ValueError):
    """The model has something that cannot be imported or lowered; the message names it."""
