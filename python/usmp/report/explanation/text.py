"""An explanation as text, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console

from usmp.report.compared_table import compared_table
from usmp.report.explanation.operators import joined
from usmp.report.explanation.pairs import pair_lines
from usmp.report.explanation.suggestions import (
    lines_below,
    suggestion_table,
    suggestions_title,
)
from usmp.report.text_tables import TextTable, print_list, print_table, print_text, printed_text
from usmp.support.text.plain_text import shown

_MOST_BUFFERS = 12


def explanation_text(document: Mapping[str, Any]) -> str:
    """Return the text that `print_explanation` prints, without colors."""
    return printed_text(lambda console: print_explanation(document, console))


def print_explanation(document: Mapping[str, Any], console: Console | None = None) -> None:
    """Print the peak of each workspace pool (operator, live buffers, pairs that share no more
    bytes, proof), then the choices of the search, and suggestions."""
    console = console or Console(highlight=False)
    print_text(" ".join(ram_sentences(document)), console)
    console.print()
    for pool in document["pools"]:
        _print_pool(pool, console)
    compared = compared_table(document)
    if compared is not None:
        print_table(compared, console)
    if document["not_interleaved"] is not None:
        print_text(document["not_interleaved"], console)
        console.print()
    if document["suggestions"] is not None:
        _print_suggestions(document, console)
    for note in document["notes"]:
        print_text(note, console)


def _print_pool(pool: Mapping[str, Any], console: Console) -> None:
    print_text(f"Pool {shown(pool['name'])}: {' '.join(headline(pool))}", console)
    print_table(_live_table(pool), console)
    for sentence in pool_sentences(pool):
        print_text(sentence, console)
    console.print()
    pairs = pair_lines(pool)
    if pairs:
        print_text("Which of these share no more bytes, and why:", console)
        print_list(pairs, console)
        console.print()


def ram_sentences(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield sentences about the parts of the model's RAM."""
    name, ram = shown(document["title"]), document["ram"]
    if ram is not None:
        parts = [f"workspace {ram['workspace_size_bytes']}"]
        if ram["io_size_bytes"]:
            parts.append(f"inputs and outputs {ram['io_size_bytes']}")
        yield f"{name}: RAM {ram['size_bytes']} bytes = {' + '.join(parts)}, without the stack."
    if not document["pools"]:
        yield "Nothing is in the workspace."


def headline(pool: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence about the peak of a pool and its operator or entries."""
    operator, entries = pool["operator"], [shown(entry) for entry in pool["entries"]]
    where = f", while {joined(entries)} {'run at once' if entries[1:] else 'runs'}"
    if operator is not None:
        where = f", at {operator['label']}"
    elif not entries:
        where = ""
    yield f"the peak is {pool['peak_bytes']} bytes{where}."


def pool_sentences(pool: Mapping[str, Any]) -> Iterator[str]:
    """Yield the sentences below the table: shared and unused bytes, the proof, the next peak."""
    live = sum(buffer["size_bytes"] for buffer in pool["live_at_peak"])
    unused = pool["unused_bytes"]
    used = pool["peak_bytes"] - unused["alignment"] - unused["other"]
    if live > used:
        yield f"These {live} bytes lie in {used}, since some lie over others that die."
    if unused["alignment"]:
        yield f"Alignment takes {unused['alignment']} bytes between them."
    if unused["other"]:
        yield (
            f"{unused['other']} bytes below the peak hold nothing then; buffers of other times "
            "keep these from moving down."
        )
    yield pool["proof"]
    next_peak = pool["next_peak"]
    if next_peak is not None and next_peak["operator"] is not None:
        proved = "" if next_peak["optimal"] else " (the best plan found)"
        yield (
            f"If that operator took no memory, the peak would be {next_peak['peak_bytes']} bytes"
            f"{proved}, at {next_peak['operator']['label']}."
        )


def _live_table(pool: Mapping[str, Any]) -> TextTable:
    live = pool["live_at_peak"]
    rows = [
        [buffer["name"], str(buffer["offset"]), str(buffer["size_bytes"]), buffer["why"]]
        for buffer in live[:_MOST_BUFFERS]
    ]
    hidden = live[_MOST_BUFFERS:]
    if hidden:
        size = sum(buffer["size_bytes"] for buffer in hidden)
        rows.append([f"{len(hidden)} smaller buffers", "", str(size), ""])
    return TextTable(
        "",
        ("live at the peak", "offset", "bytes", "why"),
        rows,
        names=frozenset({0, 3}),
        numbers=frozenset({1, 2}),
        several_lines=frozenset({3}),
    )


def _print_suggestions(document: Mapping[str, Any], console: Console) -> None:
    print_text(f"{suggestions_title(document)}:", console)
    table = suggestion_table(document)
    if table is None:
        print_text("- nothing that was tried", console)
    else:
        print_table(table, console)
    for line in lines_below(document):
        print_text(line, console)
