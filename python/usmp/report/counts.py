"""Format counts for reports."""

from __future__ import annotations


def shortened(count: int) -> str:
    """Return a count as text, in millions if it is a million or more."""
    return f"{count / 1e6:.1f} M" if count >= 1e6 else str(count)
