"""Text in lines of a given width, in which no word is broken if that can be."""

from __future__ import annotations

import re
from collections.abc import Iterator

ELISION = "…"
"""In the place of the middle of a name that is too long."""

TIE = "\u00a0"
"""A space at which no line ends."""

_PARTS = re.compile(r"(?<=[_/.,:;=+|\\-])(?=\w)|(?<=[a-z])(?=[A-Z])")
"""Where a name may go on in the next line: behind what joins its parts, and at "aB"."""


def wrapped(text: str, width: int) -> list[str]:
    """The text in lines that are no wider than `width` cells of a terminal.

    Lines end at spaces. A name that is wider than a line goes on in the next behind what joins its
    parts, such as "_" or "/", and a part that is wider than a line anywhere: nothing is left out.
    Words with `TIE` between them stay together, and have a space there.

    Parameters
    ----------
    width
        one cell if it is less; a character that is wider has a line of its own.
    """
    width = max(width, 1)
    lines = (line for paragraph in text.split("\n") for line in _lines(paragraph, width))
    return [line.replace(TIE, " ") for line in lines]


def cell_width(text: str) -> int:
    """The cells of a terminal that the text takes; some characters take two, and some none."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def widest_word(text: str) -> int:
    """The cells of the widest word: what it takes to break no name."""
    return max(map(cell_width, text.split(" ")), default=0)


def widest_part(text: str) -> int:
    """The cells of the widest part of a name: what it takes to leave nothing out."""
    return max((cell_width(part) for word in text.split(" ") for part in parts(word)), default=0)


def parts(word: str) -> list[str]:
    """The parts of a name, each with what joins it to the next."""
    return _PARTS.split(word)


def elided(text: str, width: int) -> str:
    """The text, or its beginning and its end with `ELISION` between them, if it is wider than
    `width` cells, of which there is one at least."""
    if cell_width(text) <= width:
        return text
    kept = max(width, 1) - cell_width(ELISION)
    end = kept // 2
    return _start(text, kept - end) + ELISION + _start(text[::-1], end)[::-1]


def _start(text: str, width: int) -> str:
    """As many characters of the beginning as there are cells for."""
    taken = 0
    for count, character in enumerate(text):
        taken += cell_width(character)
        if taken > width:
            return text[:count]
    return text


def _pieces(text: str, width: int) -> Iterator[str]:
    """The text in lines that are full, and the rest; there is a character in each."""
    start = taken = 0
    for place, character in enumerate(text):
        cells = cell_width(character)
        if taken + cells > width and place > start:
            yield text[start:place]
            start, taken = place, 0
        taken += cells
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
