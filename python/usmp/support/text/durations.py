"""Durations as a user writes them: `10s`, `500ms`, `2min`, `1.5`."""

from __future__ import annotations

import re

_SECONDS = {"": 1.0, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*(ms|s|min|h|)")
_MOST_SECONDS = 1e9


def parse_duration(text: str) -> float:
    """Return a duration in seconds; a number without a unit is in seconds.

    Raises
    ------
    ValueError
        The text is not a duration, or not positive, or longer than thirty years.
    """
    match = _DURATION.fullmatch(text.strip())
    seconds = float(match[1]) * _SECONDS[match[2]] if match else 0.0
    if not 0 < seconds <= _MOST_SECONDS:
        raise ValueError(
            f'"{text}" is no duration; write a number and ms, s, min or h, such as 500ms or 10s'
        )
    return seconds
