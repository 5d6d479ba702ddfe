"""Format counts for reports."""

from __future__ import annotations


def shortened(count: int) -> str:
    """Return a count as text, in millions if it is a million or more."""
    return f"{count / 1e6:.1f} M" if count >= 1e6 else str(count)


def shown_ratio(peak_bytes: int, bound_bytes: int) -> str:
    """Return the peak divided by its lower bound, rounded up, so that only a peak at the bound has
    1.000; "-" if the bound is 0."""
    return f"{-(-1000 * peak_bytes // bound_bytes) / 1000:.3f}" if bound_bytes else "-"
