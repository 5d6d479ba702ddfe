"""The message that the user reads when a command fails."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TextIO

from usmp.support.process.address_space import out_of_memory
from usmp.support.text.plain_text import printable, shown

_LONGEST_PART = 1000
_MOST_LINES = 12
_LINE = 100
"""Most characters of a line that is not broken behind semicolons."""
_BREAK = re.compile(r'(?<=[.?!]) (?=[A-Z"])|(?<=;) ')
"""A space behind a sentence, or behind a semicolon."""


def tell(error: Exception, has_extension: bool, stderr: TextIO, program: str = "tvmc") -> None:
    """Print an error on stderr, a sentence a line, with its position in a user's Python file."""
    # Import late, because commands start faster without these modules.
    from traceback import print_exception

    from usmp.support.user_code import place_in_user_code, wants_backtrace

    place = place_in_user_code(error) if has_extension else None
    text = "\n  ".join(_lines(error))
    if wants_backtrace():
        print_exception(error, file=stderr)
    if place:
        advice = "" if wants_backtrace() else "; TVM_BACKTRACE=1 shows the traceback"
        text += f" ({printable(place)}{advice})"
    print(f"{program}: error: {text}", file=stderr, flush=True)


def one_line(error: Exception) -> str:
    """Return the message in one line, without TVM's text for its developers."""
    *lines, last = _lines(error)
    ended = " ".join(line if line[-1] in ".:;?" else f"{line}." for line in lines)
    return " ".join(filter(None, (_shortened(ended), last)))


def _lines(error: Exception) -> list[str]:
    """Return the sentences of the first paragraph, without middle lines if there are too many.

    Keep the last line, because it is the advice, and a long list may precede it.
    """
    lines = [line for line in (" ".join(line.split()) for line in _paragraph(error)) if line]
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 2], "...", lines[-1]]
    texts = (text for line in lines for text in _sentences(line))
    return [_shortened(text) for text in texts if text] or [type(error).__name__]


def _sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a line, and the parts of a long one, but do not break quoted names."""
    start = 0
    for space in _BREAK.finditer(text):
        part = text[start : space.start()]
        is_open = part.count('"') % 2 or part.count("(") != part.count(")")
        if not is_open and (part[-1] != ";" or len(text) > _LINE):
            yield _without_period(part)
            start = space.end()
    yield _without_period(text[start:])


def _without_period(text: str) -> str:
    return text if text.endswith("..") else text.removesuffix(".")


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
