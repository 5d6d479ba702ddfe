"""The JSON of metadata.json, which may be damaged or made to do harm."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from usmp.support.plain_text import shown

_MOST_DIGITS = 20
"""Of integers: what is larger has no meaning, and takes quadratic time."""
LARGEST_METADATA_BYTES = 2**28
_LARGEST_BYTES = 2**32


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


def read_value(entry: Any, key: str, is_valid: Callable[[Any], bool], where: str) -> Any:
    if not isinstance(entry, dict) or not is_valid(entry.get(key)):
        raise DamagedMetadata(f'{where} has no valid "{key}"')
    return entry[key]


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def is_truth(value: Any) -> bool:
    return isinstance(value, bool)


def is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def is_size(value: Any) -> bool:
    """Whether it is a number of bytes that a host can provide."""
    return is_count(value) and value <= _LARGEST_BYTES


def is_identifier(value: Any) -> bool:
    return is_text(value) and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value) is not None


def is_list_of(is_valid: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(is_valid, value))


def is_range(value: Any) -> bool:
    return is_list_of(is_count)(value) and len(value) == 2 and value[0] < value[1]
