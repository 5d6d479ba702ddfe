"""Tables of offline pages, which work without scripts."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from usmp.support.text.plain_text import shown

_SCROLLED_ROWS = 25
"""Most rows of a table without its own scroll bar."""

_ROWS_LAID_OUT = 300
"""Most rows of a table that is laid out before it is in view."""

WORDS, NUMBERS, NAMES, LISTS = "words", "numbers", "names", "lists"
"""Kinds of columns. The page cuts names and lists at the end of their column, lists first."""

_TAGS = {NAMES: "span", LISTS: "div"}

Heading = tuple[str, str]
"""The text of a heading, and the kind of its column."""

Cells = Sequence[object]


def name_html(text: str) -> str:
    """Return a name from a model as escaped HTML, isolated for either writing direction."""
    return f"<bdi>{escape(shown(text))}</bdi>"


def table_html(
    identity: str,
    caption: str,
    headings: Sequence[Heading],
    rows: Sequence[tuple[str, Cells]],
    name_column: int,
) -> str:
    """Return a table in a scrolling region that the keyboard can reach. Cells are HTML."""
    tall = " tall" if len(rows) > _SCROLLED_ROWS else ""
    tall += " long" if len(rows) > _ROWS_LAID_OUT else ""
    attribute = f' id="{identity}"' if identity else ""
    numbers = [' class="number"' if kind == NUMBERS else "" for _, kind in headings]
    head = "".join(
        f'<th scope="col"{number}>{escape(words)}</th>'
        for (words, _), number in zip(headings, numbers, strict=True)
    )
    starts, ends = [], []
    for column, ((_, kind), number) in enumerate(zip(headings, numbers, strict=True)):
        tag = "th" if column == name_column else "td"
        start, end = (f"<{_TAGS[kind]}>", f"</{_TAGS[kind]}>") if kind in _TAGS else ("", "")
        starts.append(f"<{tag}{' scope=row' if tag == 'th' else ''}{number}>{start}")
        ends.append(f"{end}</{tag}>")
    body = "\n".join(
        f"<tr{attributes}>"
        + "".join(
            f"{start}{cell}{end}" for start, cell, end in zip(starts, cells, ends, strict=True)
        )
        + "</tr>"
        for attributes, cells in rows
    )
    label = escape(caption, quote=True)
    return (
        f'<div class="table{tall}" role="region" tabindex="0" aria-label="{label}">'
        f"<table{attribute}><caption>{escape(caption)}</caption>\n"
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )
