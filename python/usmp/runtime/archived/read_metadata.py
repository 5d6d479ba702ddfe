"""Read values of metadata.json, which may be damaged or malicious."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from usmp.support.text.strict_json import DamagedJSON, parse_json

LARGEST_METADATA_BYTES = 2**28
_LARGEST_BYTES = 2**32


class DamagedMetadata(ValueError):
    """metadata.json is malformed; the message names the value."""


def parse_metadata(content: bytes) -> Any:
    """Parse the content of metadata.json.

    Raises
    ------
    DamagedMetadata
        the content is too large, no JSON, or nested too deeply, or has a duplicate key or a number
        out of range.
    """
    try:
        return parse_json(content, LARGEST_METADATA_BYTES)
    except DamagedJSON as error:
        raise DamagedMetadata(str(error)) from error


def read_value(entry: Any, key: str, is_valid: Callable[[Any], bool], where: str) -> Any:
    """Return the value of a key, or raise DamagedMetadata if it is missing or invalid."""
    if not isinstance(entry, dict) or not is_valid(entry.get(key)):
        raise DamagedMetadata(f'{where} has no valid "{key}"')
    return entry[key]


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def is_missing(value: Any) -> bool:
    return value is None


def is_truth(value: Any) -> bool:
    return isinstance(value, bool)


def is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def is_size(value: Any) -> bool:
    """Return whether a value is a number of bytes that a host can provide."""
    return is_count(value) and value <= _LARGEST_BYTES


def is_identifier(value: Any) -> bool:
    return is_text(value) and value.isascii() and value.isidentifier()


def is_list_of(is_valid: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(is_valid, value))


def is_range(value: Any) -> bool:
    return is_list_of(is_count)(value) and len(value) == 2 and value[0] < value[1]
