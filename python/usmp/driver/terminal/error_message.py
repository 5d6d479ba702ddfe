"""What the user reads when a command fails."""

from __future__ import annotations

import re
from typing import TextIO

from usmp.support.address_space import out_of_memory
from usmp.support.plain_text import printable, shown

_LONGEST_PART = 1000
_MOST_LINES = 12


def tell(error: Exception, has_extension: bool, stderr: TextIO, program: str = "tvmc") -> None:
    """Say what went wrong, and where if it is in Python of the user.

    That is one line; a terminal gets the lines that the error has, as far as a screen holds them.
    """
    # Not before there is an error: help comes sooner without.
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
    """The first paragraph: what follows it, TVM adds for those who debug TVM.

    Its last line says what to do; what is before it may be long, as a list of many pools is.
    """
    *lines, last = _paragraph(error)
    parts = (" ".join(" ".join(lines).split()), " ".join(last.split()))
    return " ".join(_shortened(part) for part in parts if part) or type(error).__name__


def _lines(error: Exception) -> list[str]:
    """The same for people: line by line, without the middle of many."""
    lines = [_shortened(line.strip()) for line in _paragraph(error) if line.strip()]
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 2], "...", lines[-1]]
    return lines or [type(error).__name__]


def _paragraph(error: Exception) -> list[str]:
    return _text(error).strip().split("\n\n")[0].split("\n")


def _text(error: Exception) -> str:
    """What the error says, of a file as every command of the system would."""
    if isinstance(error, MemoryError) and not str(error):
        return out_of_memory()
    if not isinstance(error, OSError) or error.filename is None:
        return str(error)
    from tempfile import gettempdir

    is_temporary = str(error.filename).startswith(gettempdir())
    advice = "; TMPDIR names another folder for temporary files" if is_temporary else ""
    return f"{error.filename}: {error.strerror}{advice}"


def _shortened(text: str) -> str:
    """The text for a terminal, long names without their middles; a long text without its end."""
    text = re.sub(r"\S+", lambda word: shown(word[0]), text)
    return text if len(text) <= _LONGEST_PART else f"{text[:_LONGEST_PART]} ..."
