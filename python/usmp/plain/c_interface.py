"""Names and numbers that the emitted C shares with its callers."""

from __future__ import annotations

NO_MEMORY = -3
"""The status of a run whose allocation fails."""

ANY_ADDRESS_MACRO = "TVMGEN_ANY_POOL_ADDRESS"
"""The macro that allows other addresses of pools than the user set; alignments still hold."""


def callback_member(what: str, c_name: str) -> str:
    """Return the struct member with the callback for rows of a tensor; `what` is "inputs" or
    "outputs"."""
    return f"{'read' if what == 'inputs' else 'write'}_{c_name}"


def context_member(c_name: str) -> str:
    """Return the struct member with the context that the callback of a tensor receives."""
    return f"{c_name}_context"
