"""JSON that may be damaged or made to do harm."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any

from usmp.support.plain_text import shown

_MOST_DIGITS = 20
"""Of integers: what is larger has no meaning, and takes quadratic time."""


class DamagedJSON(ValueError):
    """A text is not JSON, or not such as this package writes; the message says where."""


def parse_json(content: bytes, largest_bytes: int) -> Any:
    """The parsed JSON.

    Raises
    ------
    DamagedJSON
        it is too large, no JSON, nested too deep, has a key twice, or a number that is
        too large.
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
    """An object, whose keys are all there that the text has."""
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
