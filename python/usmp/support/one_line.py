"""Messages in one line, whatever TVM's importers raise and files name their tensors."""

from __future__ import annotations

_LONGEST_MESSAGE = 400


def one_line(error: Exception) -> str:
    """The kind of the error, and the part of it that a user can do something with."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = ": ".join([type(error).__name__, *[" ".join(lines[:3])] * bool(lines)])
    return text[:_LONGEST_MESSAGE]
