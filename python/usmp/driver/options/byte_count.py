"""Parse numbers of bytes on the command line."""

from __future__ import annotations

import argparse
import re

from usmp.support.text.plain_text import shown

_BYTES = re.compile(r"(0[xX][0-9a-fA-F]+|[0-9]+)\s*([kKmMgG]?)(?:i?[bB])?")
_FACTORS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_MOST_DIGITS = 100
"""More decimal digits are cut, because they are out of range and Python parses them slowly."""
INT64_MAX = (1 << 63) - 1
BYTES = "bytes, such as 4096, 0x400 or 64K"


def byte_count(text: str) -> int | None:
    """Parse bytes such as 1000, 0x400 or 64K (K is 1024, M is 1024K); None if malformed."""
    match = _BYTES.fullmatch(text.strip())
    if match is None:
        return None
    digits = match[1]
    number = int(digits, 16) if "x" in digits.lower() else int(digits[:_MOST_DIGITS])
    return number * _FACTORS[match[2].lower()]


def bytes_option(text: str) -> int:
    """Parse the value of an option such as `--arena-bytes`."""
    number = byte_count(text)
    if number is None or number > INT64_MAX:
        raise argparse.ArgumentTypeError(f"must be {BYTES}, not {shown(text)}")
    return number
