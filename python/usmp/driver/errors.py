"""Errors in the options of a command."""

from __future__ import annotations


class UsageError(ValueError):
    """The command line is wrong; the message names the option."""
