"""Wrapping of text to a width, without breaking words if possible."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from typing import IO

ELISION = "…"
"""The character that replaces the middle of a long name."""

TIE = "\u00a0"
"""A no-break space."""

_PARTS = re.compile(r"(?<=[_/.,:;=+|\\-])(?=\w)|(?<=[a-z])(?=[A-Z])")
"""Positions where a long name may be broken: behind separators, and between "a" and "B"."""


def wrapped(text: str, width: int) -> list[str]:
    """Wrap text into lines of at most `width` cells of a terminal.

    Lines end at spaces. A name that is wider than a line is broken behind separators such as "_" or
    "/". If a part is still wider than a line, it is broken at any character. Words that are joined
    by `TIE` stay on one line, with a space between them.

    Parameters
    ----------
    width
        number of cells, at least 1; a wider character gets a line of its own.
    """
    width = max(width, 1)
    lines = (line for paragraph in text.split("\n") for line in _lines(paragraph, width))
    return [line.replace(TIE, " ") for line in lines]


def line_width(stream: IO[str]) -> int:
    """Return the cells of a line: of a terminal, or as COLUMNS says. A line of a file or a log has
    no limit, so that `grep` finds whole rows, sentences and commands."""
    if stream.isatty() or "COLUMNS" in os.environ:
        return shutil.get_terminal_size().columns
    return sys.maxsize


def cell_width(text: str) -> int:
    """Return the cells of a terminal that the text takes; some characters take two, or none."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def widest_word(text: str) -> int:
    """Return the cells of the widest word, the least width at which no word is broken."""
    return max(map(cell_width, text.split(" ")), default=0)


def widest_part(text: str) -> int:
    """Return the cells of the widest part of a word, the least width that breaks no part."""
    return max((cell_width(part) for word in text.split(" ") for part in parts(word)), default=0)


def parts(word: str) -> list[str]:
    """Split a name into its parts, each with the separator behind it."""
    return _PARTS.split(word)


def elided(text: str, width: int) -> str:
    """Return the text, with `ELISION` for its middle if it is wider than `width` cells."""
    if cell_width(text) <= width:
        return text
    kept = max(width, 1) - cell_width(ELISION)
    end = kept // 2
    return _start(text, kept - end) + ELISION + _start(text[::-1], end)[::-1]


def _start(text: str, width: int) -> str:
    """Return the longest prefix of the text that fits into `width` cells."""
    used = 0
    for count, character in enumerate(text):
        used += cell_width(character)
        if used > width:
            return text[:count]
    return text


def _pieces(text: str, width: int) -> Iterator[str]:
    """Break text into full lines and a last line, with at least one character in each."""
    start = used = 0
    for place, character in enumerate(text):
        cells = cell_width(character)
        if used + cells > width and place > start:
            yield text[start:place]
            start, used = place, 0
        used += cells
    yield text[start:]


def _lines(paragraph: str, width: int) -> Iterator[str]:
    if cell_width(paragraph) <= width:
        yield paragraph
        return
    indent = len(paragraph) - len(paragraph.lstrip(" "))
    line = paragraph[: min(indent, width)]
    is_empty = True
    for word in filter(None, paragraph.split(" ")):
        gap = "" if is_empty else " "
        if not is_empty and cell_width(line + gap + word) > width:
            yield line
            line = gap = ""
        for part in [word] if cell_width(line + gap + word) <= width else parts(word):
            if line.strip() and cell_width(line + gap + part) > width:
                yield line
                line = gap = ""
            line += gap + part
            gap = ""
            if cell_width(line) > width:
                *full, line = _pieces(line, width)
                yield from full
        is_empty = False
    yield line
