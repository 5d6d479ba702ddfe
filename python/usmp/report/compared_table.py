"""The table of the choices that a search compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from usmp.names import STAGES
from usmp.report.text_tables import TextTable
from usmp.support.text.plain_text import shown

_MOST_SHOWN = 4
"""Most alternatives of a stage in the table, which counts further ones."""


def compared_table(metadata: Mapping[str, Any]) -> TextTable | None:
    """Return a table of the decisions that had alternatives: choice, alternatives and reasons.

    Parameters
    ----------
    metadata
        metadata of one module of an archive, or its explanation; only the key `search` is read.

    Returns
    -------
    TextTable | None
        None if no stage had alternatives.
    """
    rows = [_row(line) for line in metadata.get("search", ()) if line["alternatives"]]
    if not rows:
        return None
    return TextTable(
        "What was compared",
        ("decision", "taken", "bytes", "not taken"),
        rows,
        names=frozenset({0, 1, 3}),
        numbers=frozenset({2}),
        several_lines=frozenset({3}),
    )


def _row(line: Mapping[str, Any]) -> list[str]:
    stage = STAGES.get(line["stage"], line["stage"])
    decision = f"{stage}, entry {shown(line['entry'])}" if "entry" in line else shown(stage)
    alternatives = line["alternatives"]
    lines = [_words(alternative) for alternative in alternatives[:_MOST_SHOWN]]
    hidden = len(alternatives) - len(lines)
    if hidden:
        lines.append(f"{hidden} more")
    return [decision, line["taken"], str(line.get("peak_bytes", "")), "\n".join(lines)]


def _words(alternative: Mapping[str, Any]) -> str:
    value, why = shown(alternative["value"]), shown(alternative["why"])
    if "bound_bytes" in alternative:
        return f"{value}: at least {alternative['bound_bytes']}"
    if "peak_bytes" in alternative:
        return f"{value}: {alternative['peak_bytes']} ({why})"
    return f"{value}: {why}"
