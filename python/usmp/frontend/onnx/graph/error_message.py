"""Error messages of the ONNX package, short enough for one line."""

from __future__ import annotations

_LONGEST_MESSAGE = 400


def message_of(error: Exception) -> str:
    """Return the message of an error of the ONNX package without its context."""
    text = " ".join(str(error).split("==> Context")[0].split()) or type(error).__name__
    return text[:_LONGEST_MESSAGE]
