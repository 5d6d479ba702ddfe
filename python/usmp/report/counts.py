"""Format counts for reports."""

from __future__ import annotations


def shortened(count: int) -> str:
    """Return a count as text, from a million on in millions."""
    return f"{count / 1e6:.1f} M" if count >= 1e6 else str(count)
