"""Parse counts on the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable


def whole_number(low: int, high: int) -> Callable[[str], int]:
    """Return a parser for options whose value is a number from `low` to `high`."""

    def read(text: str) -> int:
        is_number = text.isascii() and text.isdigit() and len(text) <= len(str(high))
        if not is_number or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"must be a number from {low} to {high}, not {text}")
        return int(text)

    return read
