"""What the emitted C and those who call it must agree on."""

from __future__ import annotations

NO_MEMORY = -3
"""What a run returns if an allocation cannot be made."""

ANY_ADDRESS_MACRO = "TVMGEN_ANY_POOL_ADDRESS"
"""The macro with which a program may have pools elsewhere, as on a host; they are aligned alike."""


def callback_member(what: str, c_name: str) -> str:
    """The member of the struct of "inputs" or "outputs" that is called for each row of a tensor."""
    return f"{'read' if what == 'inputs' else 'write'}_{c_name}"


def context_member(c_name: str) -> str:
    """The member whose value that one is called with."""
    return f"{c_name}_context"
