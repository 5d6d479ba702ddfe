"""Percentages as a user writes them: `10%`, `0.5 %`, `10`."""

from __future__ import annotations

import re

_PERCENTAGE = re.compile(r'("?)([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*%?\1')
_MOST_PERCENT = 1e6


def parse_percentage(value: object) -> float:
    """The percent that a text, or a number, stands for: 10 for "10%", for "10" and for 10.

    Raises
    ------
    ValueError
        It is no percentage, or negative, or more than a million percent.
    """
    percent = -1.0
    if isinstance(value, int | float) and not isinstance(value, bool):
        percent = float(value)
    elif isinstance(value, str):
        match = _PERCENTAGE.fullmatch(value.strip())
        percent = float(match[2]) if match else -1.0
    # What is not a number is not between any.
    if not 0 <= percent <= _MOST_PERCENT:
        text = value if isinstance(value, str) else repr(value)
        raise ValueError(
            f'"{text}" is no percentage; write a number that is not negative, with or without %, '
            "such as 10%"
        )
    return percent
