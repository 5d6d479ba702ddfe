"""The message that the user reads when a command fails."""

from __future__ import annotations

import re
from typing import TextIO

from usmp.support.process.address_space import out_of_memory
from usmp.support.text.plain_text import printable, shown

_LONGEST_PART = 1000
_MOST_LINES = 12


def tell(error: Exception, has_extension: bool, stderr: TextIO, program: str = "tvmc") -> None:
    """Print an error on stderr, with its position if it is in a user's Python file.

    A terminal gets up to `_MOST_LINES` lines of the message, any other stream a single line.
    """
    # Import late, because commands start faster without these modules.
    from traceback import print_exception

    from usmp.support.user_code import place_in_user_code, wants_backtrace

    place = place_in_user_code(error) if has_extension else None
    text = "\n  ".join(_lines(error)) if stderr.isatty() else one_line(error)
    if wants_backtrace():
        print_exception(error, file=stderr)
    if place:
        advice = "" if wants_backtrace() else "; TVM_BACKTRACE=1 shows the traceback"
        text += f" ({printable(place)}{advice})"
    print(f"{program}: error: {text}", file=stderr, flush=True)


def one_line(error: Exception) -> str:
    """Return the first paragraph of the message in one line, without TVM's text for its developers.

    Shorten the last line on its own, because it is the advice, and a long list may precede it.
    """
    *lines, last = _paragraph(error)
    parts = (" ".join(" ".join(lines).split()), " ".join(last.split()))
    return " ".join(_shortened(part) for part in parts if part) or type(error).__name__


def _lines(error: Exception) -> list[str]:
    """Return the lines of the first paragraph, without middle lines if there are too many."""
    lines = [_shortened(line.strip()) for line in _paragraph(error) if line.strip()]
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 2], "...", lines[-1]]
    return lines or [type(error).__name__]


def _paragraph(error: Exception) -> list[str]:
    return _text(error).strip().split("\n\n")[0].split("\n")


def _text(error: Exception) -> str:
    """Return the text of an error. For an error of a file, name the file first."""
    if isinstance(error, MemoryError) and not str(error):
        return out_of_memory()
    if not isinstance(error, OSError) or error.filename is None:
        return str(error)
    from tempfile import gettempdir

    is_temporary = str(error.filename).startswith(gettempdir())
    advice = "; TMPDIR names another folder for temporary files" if is_temporary else ""
    return f"{error.filename}: {error.strerror}{advice}"


def _shortened(text: str) -> str:
    """Cut the middle of long words, and the end of a long text."""
    text = re.sub(r"\S+", lambda word: shown(word[0]), text)
    return text if len(text) <= _LONGEST_PART else f"{text[:_LONGEST_PART]} ..."
