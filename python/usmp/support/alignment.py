"""Alignments in bytes."""

from __future__ import annotations


def is_alignment(value: object) -> bool:
    """Return whether a value is an alignment in bytes: a power of two."""
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    return value > 0 and value & (value - 1) == 0
