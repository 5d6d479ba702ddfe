"""An explanation as Markdown, for reports and reviews."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from usmp.report.compared_table import compared_table
from usmp.report.explanation.pairs import pair_lines
from usmp.report.explanation.suggestions import (
    lines_below,
    suggestion_table,
    suggestions_title,
)
from usmp.report.explanation.text import headline, pool_sentences, ram_sentences
from usmp.report.text_tables import TextTable, markdown_text
from usmp.support.text.plain_text import shown


def explanation_markdown(document: Mapping[str, Any]) -> str:
    """Return an explanation as Markdown, with headings and tables."""
    return "\n".join(_lines(document)) + "\n"


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    yield f"# Memory of {markdown_text(shown(document['title']))}"
    yield from ("", *map(markdown_text, ram_sentences(document)))
    for pool in document["pools"]:
        yield from ("", f"## Pool {markdown_text(shown(pool['name']))}", "")
        yield from (markdown_text(s[:1].upper() + s[1:]) for s in headline(pool))
        rows = [
            (shown(b["name"]), str(b["offset"]), str(b["size_bytes"]), b["why"])
            for b in pool["live_at_peak"]
        ]
        yield from _table(("live at the peak", "offset", "bytes", "why"), rows)
        for sentence in pool_sentences(pool):
            yield from (markdown_text(sentence), "")
        yield from (f"- {markdown_text(line)}" for line in pair_lines(pool))
    compared = compared_table(document)
    if compared is not None:
        yield from ("", f"## {compared.title}")
        yield from _text_table(compared)
    if document["not_interleaved"] is not None:
        yield from ("", markdown_text(document["not_interleaved"]))
    if document["suggestions"] is not None:
        yield from _suggestions(document)
    for note in document["notes"]:
        yield from ("", markdown_text(note))


def _suggestions(document: Mapping[str, Any]) -> Iterator[str]:
    yield from ("", f"## {suggestions_title(document)}", "")
    table = suggestion_table(document)
    yield from ("Nothing that was tried.", "") if table is None else _text_table(table)
    yield from (f"- {markdown_text(line)}" for line in lines_below(document))


def _text_table(table: TextTable) -> Iterator[str]:
    rows = [[cell.replace("\n", "; ") for cell in row] for row in table.rows]
    yield from _table(table.headings, rows)


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield ""
    yield f"| {' | '.join(headings)} |"
    yield f"|{'---|' * len(headings)}"
    for row in rows:
        yield f"| {' | '.join(map(markdown_text, row))} |"
    yield ""
