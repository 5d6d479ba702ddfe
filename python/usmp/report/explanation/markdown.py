"""An explanation as Markdown, for reports and reviews."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from usmp.report.compared_table import compared_table
from usmp.report.explanation.pairs import pair_lines
from usmp.report.explanation.sentences import suggestion_sentence
from usmp.report.explanation.text import headline, no_gain_lines, pool_sentences, ram_sentences
from usmp.report.text_tables import markdown_text
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
        cells = [[cell.replace("\n", "; ") for cell in row] for row in compared.rows]
        yield from _table(compared.headings, cells)
    if document["suggestions"] is not None:
        yield from _suggestions(document)
    for note in document["notes"]:
        yield from ("", markdown_text(note))


def _suggestions(document: Mapping[str, Any]) -> Iterator[str]:
    gains = [s for s in document["suggestions"] if (s["saved_bytes"] or 0) > 0]
    yield from ("", f"## What would need less RAM than {document['ram']['size_bytes']} bytes", "")
    rows = [
        (s["flag"], str(s["ram_bytes_after"]), str(s["saved_bytes"]), suggestion_sentence(s))
        for s in gains
    ]
    if rows:
        yield from _table(("option", "RAM bytes", "saves", "what it does"), rows)
    else:
        yield from ("Nothing that was tried.", "")
    yield from (f"- {markdown_text(line)}" for line in no_gain_lines(document["suggestions"]))


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield ""
    yield f"| {' | '.join(headings)} |"
    yield f"|{'---|' * len(headings)}"
    for row in rows:
        yield f"| {' | '.join(map(markdown_text, row))} |"
    yield ""
