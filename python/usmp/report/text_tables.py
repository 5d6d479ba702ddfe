"""Tables of text: on a terminal, and in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from usmp.support.plain_text import shown

_NARROWEST_NAME = 12
"""Characters of names that stand in one line, however narrow the terminal is."""


@dataclass(frozen=True)
class TextTable:
    """A table.

    Parameters
    ----------
    title
        above it.
    headings
        of its columns.
    rows
        the cells; text of models and of users stands in them as it is.
    names
        columns with such text; the others have numbers and words of this package.
    numbers
        columns that are aligned at the right.
    """

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    names: frozenset[int] = field(default=frozenset({0}))
    numbers: frozenset[int] = field(default=frozenset())


def print_table(table: TextTable, console: Console) -> None:
    """Print a table as wide as the terminal at most."""
    drawn = Table(
        title=Text(shown(table.title)),
        title_justify="left",
        box=SIMPLE_HEAD,
        collapse_padding=True,
    )
    for column, heading in enumerate(table.headings):
        cells = [row[column] for row in table.rows]
        is_number, widest = column in table.numbers, max(map(len, cells), default=0)
        # Numbers and words stay whole; names are folded where they must.
        drawn.add_column(
            Text(heading),
            justify="right" if is_number else "left",
            overflow="fold",
            no_wrap=is_number or (column not in table.names and not any(map(_has_space, cells))),
            min_width=min(widest, _NARROWEST_NAME) if column == 0 else None,
        )
    for row in table.rows:
        drawn.add_row(*(Text(shown(cell)) for cell in row))
    console.print(drawn)


def _has_space(cell: str) -> bool:
    return " " in cell


def markdown_table(table: TextTable) -> str:
    """The rows as GitHub's Markdown has tables, without the title."""
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
    """Markdown that is folded until its summary is clicked; blank lines let it be Markdown."""
    return f"<details>\n<summary>{summary}</summary>\n\n{content}\n</details>\n"


def markdown_name(text: object) -> str:
    """Text of a model or a user in Markdown: as code, and nothing in it is Markdown, HTML, a link
    or the mention of a person."""
    escaped = (c if c.isalnum() or c == " " else f"&#{ord(c)};" for c in shown(text))
    return f"<code>{''.join(escaped)}</code>"


def markdown_text(text: object) -> str:
    """A sentence with such text in it, in Markdown; nothing in it is Markdown either."""
    # A comment between "@" and a name keeps GitHub from notifying someone.
    escaped = re.sub(r"[^\w\s.:,;()]|_|[.:](?=\S)", lambda c: f"&#{ord(c[0])};", shown(text, 1000))
    return re.sub(r"&#(35|64);", r"&#\1;<!-- -->", escaped)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
