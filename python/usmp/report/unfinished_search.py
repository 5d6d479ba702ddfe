"""Sentences about a search that did not end by itself, so that more time may help."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from usmp.names import STAGES
from usmp.support.plain_text import shown

_ENDS = {
    "time": "The search was ended by its time budget: another run may end with another plan.",
    "interrupt": "The search was interrupted: another run may end with another plan.",
}
"""Ends of a search that differ from run to run."""


def unfinished_search(memory: Mapping[str, Any]) -> Iterator[str]:
    """Yield that the search would end elsewhere in another run, and what it did not compare.

    Parameters
    ----------
    memory
        `memory` of the metadata of a module.
    """
    if memory.get("search_ended_by") in _ENDS:
        yield _ENDS[memory["search_ended_by"]]
    stages = memory.get("not_compared")
    if stages:
        names = ", ".join(shown(STAGES.get(stage, stage)) for stage in stages)
        yield f"No time remained to compare all {names}."
