"""Sizes that no machine has room or time for."""

from __future__ import annotations

MUCH = 400_000_000
"""Elements; 1.6 GB of float32."""

LONG = 2**30
"""A window, a stride, a number of steps."""
