"""Percentages as a user writes them: `10%`, `0.5 %`, `10`."""

from __future__ import annotations

import re

_PERCENTAGE = re.compile(r'("?)([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*%?\1')
_MOST_PERCENT = 1e6


def parse_percentage(value: object) -> float:
    """Return a percentage as a number: 10 for "10%", "10" and 10.

    Raises
    ------
    ValueError
        The value is not a percentage, or negative, or more than a million percent.
    """
    percent = -1.0
    if isinstance(value, int | float) and not isinstance(value, bool):
        percent = float(value)
    elif isinstance(value, str):
        match = _PERCENTAGE.fullmatch(value.strip())
        percent = float(match[2]) if match else -1.0
    # Not `percent < 0 or ...`, so that NaN is refused as well.
    if not 0 <= percent <= _MOST_PERCENT:
        text = value if isinstance(value, str) else repr(value)
        raise ValueError(
            f'"{text}" is no percentage; write a number that is not negative, with or without %, '
            "such as 10%"
        )
    return percent
