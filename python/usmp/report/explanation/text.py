"""An explanation on a terminal."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from usmp.report.explanation.operators import joined
from usmp.report.explanation.pairs import pair_lines
from usmp.report.explanation.sentences import suggestion_sentence
from usmp.support.plain_text import shown

_MOST_BUFFERS = 12
_TEXT_WIDTH = 100
"""Columns of a table in a text."""


def explanation_text(document: Mapping[str, Any]) -> str:
    """What `print_explanation` prints, without colors."""
    text = io.StringIO()
    settings: dict[str, Any] = {"force_jupyter": False, "force_terminal": False}
    console = Console(file=text, width=_TEXT_WIDTH, highlight=False, color_system=None, **settings)
    print_explanation(document, console)
    return text.getvalue()


def print_explanation(document: Mapping[str, Any], console: Console | None = None) -> None:
    """Print an explanation: for each workspace pool the operator at the peak, what is live there
    and why, which buffers share no more bytes, and what is proved; then what would need less RAM.
    """
    console = console or Console(highlight=False)
    _print(console, " ".join(ram_sentences(document)))
    console.print()
    for pool in document["pools"]:
        _print_pool(pool, console)
    if document["suggestions"] is not None:
        _print_suggestions(document, console)
    for note in document["notes"]:
        _print(console, note)


def _print_pool(pool: Mapping[str, Any], console: Console) -> None:
    _print(console, f"Pool {shown(pool['name'])}: {' '.join(headline(pool))}")
    console.print()
    console.print(_live_table(pool))
    for sentence in pool_sentences(pool):
        _print(console, sentence)
    console.print()
    pairs = pair_lines(pool)
    if pairs:
        _print(console, "Which of these share no more bytes, and why:")
        console.print(_list(pairs))
        console.print()


def ram_sentences(document: Mapping[str, Any]) -> Iterator[str]:
    """What the RAM of the model consists of."""
    name, ram = shown(document["model_name"]), document["ram"]
    if ram is not None:
        parts = [f"workspace {ram['workspace_size_bytes']}"]
        if ram["io_size_bytes"]:
            parts.append(f"inputs and outputs {ram['io_size_bytes']}")
        yield f"{name}: RAM {ram['size_bytes']} bytes = {' + '.join(parts)}, without the stack."
    if not document["pools"]:
        yield "Nothing is in the workspace."


def headline(pool: Mapping[str, Any]) -> Iterator[str]:
    """The peak, and where it is."""
    operator, entries = pool["operator"], [shown(entry) for entry in pool["entries"]]
    where = f", while {joined(entries)} {'run at once' if entries[1:] else 'runs'}"
    if operator is not None:
        where = f", at {operator['label']}"
    elif not entries:
        where = ""
    yield f"the peak is {pool['peak_bytes']} bytes{where}."


def pool_sentences(pool: Mapping[str, Any]) -> Iterator[str]:
    """What is below the table: unused bytes, the proof, the next peak."""
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
    found = pool["next_peak"]
    if found is not None and found["operator"] is not None:
        proved = "" if found["optimal"] else " (the best plan found)"
        yield (
            f"If that operator took no memory, the peak would be {found['peak_bytes']} bytes"
            f"{proved}, at {found['operator']['label']}."
        )


def _live_table(pool: Mapping[str, Any]) -> Table:
    table = Table(box=SIMPLE_HEAD, collapse_padding=True)
    table.add_column("live at the peak", overflow="fold")
    for heading in ("offset", "bytes"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("why", overflow="fold")
    live = pool["live_at_peak"]
    for buffer in live[:_MOST_BUFFERS]:
        numbers = str(buffer["offset"]), str(buffer["size_bytes"])
        table.add_row(Text(shown(buffer["name"])), *numbers, Text(buffer["why"]))
    hidden = live[_MOST_BUFFERS:]
    if hidden:
        size = sum(buffer["size_bytes"] for buffer in hidden)
        table.add_row(f"{len(hidden)} smaller buffers", "", str(size), "")
    return table


def _print_suggestions(document: Mapping[str, Any], console: Console) -> None:
    suggestions = document["suggestions"]
    gains = [each for each in suggestions if (each["saved_bytes"] or 0) > 0]
    ram = document["ram"]["size_bytes"]
    _print(console, f"What would need less RAM than {ram} bytes (each planned again):")
    if gains:
        console.print(_suggestion_table(gains))
    else:
        _print(console, "- nothing that was tried")
    for line in no_gain_lines(suggestions):
        _print(console, line)


def no_gain_lines(suggestions: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What was tried in vain, and what could not be."""
    vain = [s for s in suggestions if s["saved_bytes"] is not None and s["saved_bytes"] <= 0]
    if vain:
        yield f"Tried, no gain: {', '.join(shown(each['flag']) for each in vain)}."
    for each in suggestions:
        if each["refused"] is not None:
            yield f"Not possible: {shown(each['flag'])}: {each['refused']}."


def _suggestion_table(gains: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(box=SIMPLE_HEAD, collapse_padding=True)
    for heading in ("saves", "RAM bytes"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("with this option of tvmc", overflow="fold")
    for each in gains:
        numbers = str(each["saved_bytes"]), str(each["ram_bytes_after"])
        what = suggestion_sentence(each)
        table.add_row(*numbers, Text(f"{shown(each['flag'])}\n{what}"))
    return table


def _list(lines: Sequence[str]) -> Table:
    """Lines with a dash before each, folded beside it."""
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for line in lines:
        table.add_row("-", Text(line))
    return table


def _print(console: Console, text: str) -> None:
    console.print(text, markup=False, emoji=False)
