"""Errors in one line, whatever TVM's importers raise and whatever names a file has."""

from __future__ import annotations

_LONGEST_MESSAGE = 400


def one_line(error: Exception) -> str:
    """Return the class of an error and the first lines of its message, in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = ": ".join([type(error).__name__, *[" ".join(lines[:3])] * bool(lines)])
    return text[:_LONGEST_MESSAGE]
