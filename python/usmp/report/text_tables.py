"""Print tables and texts on a terminal, and format them as Markdown."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any

from rich.console import Console
from rich.text import Text

from usmp.report.table_layout import PAGE, Column, Layout, lay_out
from usmp.support.text.plain_text import shown
from usmp.support.text.wrapped_text import ELISION, cell_width, elided, line_width, wrapped


@dataclass(frozen=True)
class TextTable:
    """A table of text. Columns are given by their indices.

    Parameters
    ----------
    title
        title above the table; empty for none.
    headings
        headings of the columns.
    rows
        cells of each row, with unescaped text of models and users.
    names
        columns with text of models and users; all other columns have numbers and our own words.
    numbers
        columns that are aligned at the right.
    footer
        last row; an empty line precedes it on a terminal.
    one_line
        columns of names that are cut in the middle instead of wrapped.
    several_lines
        columns whose cells may contain line ends; the caller escapes names in them.
    optional
        columns to omit on a terminal that is narrower than the table, in this order.
    """

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    names: frozenset[int] = field(default=frozenset({0}))
    numbers: frozenset[int] = field(default=frozenset())
    footer: Sequence[str] = ()
    one_line: frozenset[int] = field(default=frozenset())
    several_lines: frozenset[int] = field(default=frozenset())
    optional: Sequence[int] = ()


def total_cell(counts: Sequence[int | None]) -> str:
    """Return the total of a column, or what it is at least if some counts are unknown."""
    known = [count for count in counts if count is not None]
    if len(known) == len(counts):
        return str(sum(known))
    return f"at least {sum(known)}" if known else ""


def printed_text(show: Callable[[Console], object]) -> str:
    """Return the text that `show` prints to a file."""
    text = io.StringIO()
    # In a notebook, rich would display the text instead of writing it.
    settings: dict[str, Any] = {"force_jupyter": False, "force_terminal": False}
    show(Console(file=text, width=sys.maxsize, highlight=False, color_system=None, **settings))
    return text.getvalue()


def print_table(table: TextTable, console: Console) -> None:
    """Print a table; without rows, print its title and "none"."""
    has_rows = bool(table.rows or table.footer)
    if table.title:
        title = f"{shown(table.title)}{'' if has_rows else ': none'}"
        print_text(title, console, style="table.title")
    if not has_rows:
        return
    layout = _layout(table, text_width(console))
    lines = [Text(), *(Text(line, style="bold") for line in _headings(table, layout))]
    lines.append(Text(" " + "─" * (sum(layout.widths) + layout.gap * (len(layout.widths) - 1))))
    for row in table.rows:
        lines += map(Text, _lines(table, layout, _plain(table, row)))
    lines.append(Text())
    if table.footer:
        lines += [*map(Text, _lines(table, layout, _plain(table, table.footer))), Text()]
    for line in lines:
        # Do not wrap lines, whose width is chosen.
        console.print(_for_encoding(line, console.encoding), soft_wrap=True)


def _lines(table: TextTable, layout: Layout, cells: Sequence[str]) -> list[str]:
    """Return the lines of a row, with cells aligned at the top."""
    columns = []
    for i, width in zip(layout.shown, layout.widths, strict=True):
        lines = [elided(cells[i], width)] if i in table.one_line else wrapped(cells[i], width)
        columns.append([_aligned(line, width, i in table.numbers) for line in lines])
    empty, gap = [" " * width for width in layout.widths], " " * layout.gap
    return [
        f" {gap.join(cell or blank for cell, blank in zip(line, empty, strict=True))}".rstrip()
        for line in zip_longest(*columns)
    ]


def _headings(table: TextTable, layout: Layout) -> list[str]:
    """Return the lines of the headings, aligned at the bottom."""
    headings = [shown(heading) for heading in table.headings]
    height = max(
        len(wrapped(headings[i], width))
        for i, width in zip(layout.shown, layout.widths, strict=True)
    )
    for i, width in zip(layout.shown, layout.widths, strict=True):
        headings[i] = "\n" * (height - len(wrapped(headings[i], width))) + headings[i]
    return _lines(replace(table, one_line=frozenset()), layout, headings)


def _aligned(line: str, width: int, is_number: bool) -> str:
    padding = " " * (width - cell_width(line))
    return padding + line if is_number else line + padding


def _for_encoding(line: Text, encoding: str) -> Text:
    """Replace our own special characters by ASCII if the encoding lacks them."""
    try:
        "─…".encode(encoding)
    except (UnicodeEncodeError, LookupError):
        line.plain = line.plain.replace("─", "-").replace(ELISION, "~")
    return line


def is_whole(table: TextTable, console: Console) -> bool:
    """Return whether a page on a console has all columns, with short names and numbers whole."""
    return _layout(table, min(text_width(console), PAGE)).is_whole


def print_text(text: str, console: Console, style: str = "") -> None:
    """Print text, wrapped between words at the width of a line."""
    lines = "\n".join(wrapped(text, text_width(console)))
    console.print(Text(lines, style=style), soft_wrap=True)


def text_width(console: Console) -> int:
    """Return the cells of a line: as the console was given, else as its file needs."""
    return console.width if console._width is not None else line_width(console.file)


def print_list(lines: Sequence[str], console: Console) -> None:
    """Print lines with a dash before each."""
    for line in lines:
        first, *others = wrapped(line, text_width(console) - 2)
        text = "\n".join([f"- {first}", *(f"  {other}" for other in others)])
        console.print(Text(text), soft_wrap=True)


def _layout(table: TextTable, width: int) -> Layout:
    rows = [_plain(table, row) for row in (*table.rows, table.footer) if row]
    columns = [
        Column(shown(heading), [row[i] for row in rows], i in table.numbers, i in table.one_line)
        for i, heading in enumerate(table.headings)
    ]
    return lay_out(columns, table.optional, width)


def _plain(table: TextTable, row: Sequence[str]) -> list[str]:
    return [
        cell if column in table.several_lines else shown(cell) for column, cell in enumerate(row)
    ]


def markdown_table(table: TextTable) -> str:
    """Return the table as GitHub's Markdown, without the title."""
    rule = ["---:" if column in table.numbers else "---" for column in range(len(table.headings))]
    lines = [_line(table.headings), _line(rule)]
    lines += [
        _line(_markdown_cell(table, column, cell) for column, cell in enumerate(row))
        for row in table.rows
    ]
    return "\n".join(lines) + "\n"


def _markdown_cell(table: TextTable, column: int, cell: str) -> str:
    if column not in table.names or not cell:
        return cell.strip()
    return markdown_text(cell) if column else markdown_name(cell)


def details(summary: str, content: str) -> str:
    """Return a collapsed section. Blank lines around the content keep it Markdown."""
    return f"<details>\n<summary>{summary}</summary>\n\n{content}\n</details>\n"


def markdown_name(text: object) -> str:
    """Return text of a model or a user as code, escaped for Markdown and HTML."""
    escaped = (c if c.isalnum() or c == " " else f"&#{ord(c)};" for c in shown(text))
    return f"<code>{''.join(escaped)}</code>"


def markdown_text(text: object) -> str:
    """Return a sentence with text of a model or a user, escaped for Markdown."""
    # A comment between "@" and a name keeps GitHub from notifying someone.
    escaped = re.sub(r"[^\w\s.:,;()]|_|[.:](?=\S)", lambda c: f"&#{ord(c[0])};", shown(text, 1000))
    return re.sub(r"&#(35|64);", r"&#\1;<!-- -->", escaped)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
