"""The JSON of metadata.json, which may be damaged or made to do harm."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any

from usmp.support.plain_text import shown

_MOST_DIGITS = 20
"""Of integers: what is larger has no meaning, and takes quadratic time."""
LARGEST_METADATA_BYTES = 2**28


class DamagedMetadata(ValueError):
    """metadata.json is not what `tvmc compile` writes; the message says where."""


def parse_metadata(content: bytes) -> Any:
    """The parsed JSON.

    Raises
    ------
    DamagedMetadata
        it is too large, no JSON, nested too deep, has a key twice, or a number that is
        too large.
    """
    if len(content) > LARGEST_METADATA_BYTES:
        raise DamagedMetadata(
            f"it has {len(content)} bytes; it may have {LARGEST_METADATA_BYTES} at most"
        )
    try:
        return json.loads(
            content,
            object_pairs_hook=_unique,
            parse_int=_integer,
            parse_float=_number,
            parse_constant=_number,
        )
    except DamagedMetadata:
        raise
    except (ValueError, RecursionError) as error:
        raise DamagedMetadata("it is not JSON") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object, whose keys are all there that the text has."""
    entries = dict(pairs)
    if len(entries) < len(pairs):
        [(twice, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise DamagedMetadata(f'it has "{shown(twice)}" twice in one object')
    return entries


def _integer(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise DamagedMetadata(f"it has a number of {len(text)} digits")
    return int(text)


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise DamagedMetadata(f"it has the number {shown(text)}")
    return value
