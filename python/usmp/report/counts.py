"""Counts as reports show them."""

from __future__ import annotations


def shortened(count: int) -> str:
    """A count, in millions if it has as many."""
    return f"{count / 1e6:.1f} M" if count >= 1e6 else str(count)
