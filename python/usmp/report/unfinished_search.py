"""Sentences about a search that was cut short, so that more time may help."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from usmp.names import STAGES
from usmp.support.text.plain_text import shown

_ENDS = {
    "time": "The search was ended by its time budget: another run may end with another plan.",
    "interrupt": "The search was interrupted: another run may end with another plan.",
}
"""Sentences for the reasons that end a search at a different point in each run."""


def unfinished_search(memory: Mapping[str, Any]) -> Iterator[str]:
    """Yield sentences about a search that was cut short, and about stages that it skipped.

    Parameters
    ----------
    memory
        value of "memory" in the metadata of a module.
    """
    if memory.get("search_ended_by") in _ENDS:
        yield _ENDS[memory["search_ended_by"]]
    stages = memory.get("not_compared")
    if stages:
        names = ", ".join(shown(STAGES.get(stage, stage)) for stage in stages)
        yield f"No time remained to compare all {names}."
