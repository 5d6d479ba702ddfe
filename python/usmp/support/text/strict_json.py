"""A strict parser of JSON that may be damaged or malicious."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any

from usmp.support.text.plain_text import shown

_MOST_DIGITS = 20
"""Most digits of an integer, because larger ones are meaningless and parse in quadratic time."""


class DamagedJSON(ValueError):
    """A text is not JSON, or not in the form that this package writes; the message has details."""


def parse_json(content: bytes, largest_bytes: int) -> Any:
    """Parse JSON of at most `largest_bytes` bytes.

    Raises
    ------
    DamagedJSON
        the content is too large, not JSON, nested too deeply, or has a repeated key or a number
        that is too large.
    """
    if len(content) > largest_bytes:
        raise DamagedJSON(f"it has {len(content)} bytes; it may have {largest_bytes} at most")
    try:
        return json.loads(
            content,
            object_pairs_hook=_unique,
            parse_int=_integer,
            parse_float=_number,
            parse_constant=_number,
        )
    except DamagedJSON:
        raise
    except (ValueError, RecursionError) as error:
        raise DamagedJSON("it is not JSON") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object, or raise if a key is repeated."""
    entries = dict(pairs)
    if len(entries) < len(pairs):
        [(twice, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise DamagedJSON(f'it has "{shown(twice)}" twice in one object')
    return entries


def _integer(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise DamagedJSON(f"it has a number of {len(text)} digits")
    return int(text)


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise DamagedJSON(f"it has the number {shown(text)}")
    return value
