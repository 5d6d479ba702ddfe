"""The column `gaps`: times at which the content of a buffer does not matter."""

from __future__ import annotations

import re
from dataclasses import dataclass

_GAP = re.compile(r"(-?[0-9]+)-(-?[0-9]+)(?:@(-?[0-9]+):(-?[0-9]+))?")
_LONGEST = 200


@dataclass(frozen=True)
class Lifespan:
    """The live range of a buffer, and its size in bytes."""

    lower: int
    upper: int
    size: int


def live_ranges(text: str, life: Lifespan, end_is_inclusive: bool) -> list[tuple[int, int]]:
    """Return the half-open live ranges that remain around gaps such as "3-5 7-9".

    A gap with a window, such as "3-5@0:8", keeps bytes 0 to 7. It is ignored if these are all bytes
    of the buffer, and refused otherwise.

    Raises
    ------
    ValueError
        A gap is malformed, empty, outside of the live range, or overlaps another, or nothing
        remains. The message does not name the buffer; the caller does.
    """
    gaps = sorted(_gap(part, life, end_is_inclusive) for part in text.split())
    ranges, begin, previous = [], life.lower, ""
    last_end = life.lower
    for low, high, part, is_free in gaps:
        if low < last_end:
            raise ValueError(f'the gaps "{previous}" and "{part}" overlap; write one for both')
        last_end, previous = high, part
        if is_free:
            if begin < low:
                ranges.append((begin, low))
            begin = high
    if begin < life.upper:
        ranges.append((begin, life.upper))
    if not ranges:
        raise ValueError("the gaps leave nothing of the buffer's life; leave the buffer out")
    return ranges


def _gap(part: str, life: Lifespan, end_is_inclusive: bool) -> tuple[int, int, str, bool]:
    """Return the half-open range of a gap, its text, and whether it frees the bytes."""
    match = _GAP.fullmatch(part) if len(part) <= _LONGEST else None
    if match is None:
        raise ValueError(
            f'the gap "{part[:_LONGEST]}" cannot be read; write gaps as "3-5 7-9": from when to '
            "when, with a blank between them"
        )
    low, high = int(match[1]), int(match[2]) + end_is_inclusive
    if low >= high:
        raise ValueError(f'the gap "{part}" is empty or negative; its end must be after its begin')
    if low < life.lower or high > life.upper:
        raise ValueError(
            f'the gap "{part}" is not within the life of the buffer, {life.lower} to {life.upper}'
        )
    keeps_all = match[3] is not None and (int(match[3]), int(match[4])) == (0, life.size)
    if match[3] is not None and not keeps_all:
        raise ValueError(
            f'the gap "{part}" has a window, which keeps some of the bytes; that is not supported: '
            "leave the gap out, and all bytes are kept"
        )
    return low, high, part, not keeps_all
