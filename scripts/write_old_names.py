"""Write the tables of docs/from-tvm-0.18.md, with the replacement of each name of TVM 0.18.

The page has a comment `<!-- names: SECTION -->` for each section of `usmp.tvm018.SECTIONS`. The
lines between that comment and `<!-- end -->` are replaced.

    python scripts/write_old_names.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from usmp.tvm018 import SECTIONS, OldName

PAGE = Path(__file__).resolve().parents[1] / "docs/from-tvm-0.18.md"

_TABLE = re.compile(r"(<!-- names: (.*?) -->\n).*?(<!-- end -->)", re.DOTALL)


def with_tables(page: str) -> str:
    """Return the text of the page with the tables of the names in the code.

    Raises
    ------
    KeyError
        a comment names an unknown section.
    """
    return _TABLE.sub(lambda match: match[1] + _table(SECTIONS[match[2]]) + match[3], page)


def _table(rows: Sequence[OldName]) -> str:
    lines = ["| in TVM 0.18 | now | |", "|---|---|---|"]
    return "\n".join([*lines, *_lines(rows), ""])


def _lines(rows: Sequence[OldName]) -> Iterator[str]:
    """Yield a line for consecutive names that share verdict, reason and values."""
    for (verdict, reason, values), same in groupby(
        rows, lambda row: (row.verdict, row.reason, row.values)
    ):
        names = ", ".join(f"`{row.name}`" for row in same)
        of_values = " ".join(f"`{value}`" for value in values if value)
        yield f"| {names} {of_values}".rstrip() + f" | {verdict} | {_escaped(reason)} |"


def _escaped(reason: str) -> str:
    """Return the reason with the special characters of Markdown escaped."""
    escaped = reason.replace("{value}", "VALUE").replace("<", "&lt;")
    return escaped.replace("|", "\\|").replace("[", "\\[")


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text()))
