"""State layouts as JSON, which may be damaged or malicious."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from usmp.plain.state_place import StatePlace
from usmp.support.text.plain_text import shown
from usmp.support.text.strict_json import parse_json

FORMAT_VERSION = 1
LARGEST_BYTES = 2**24
_MOST_EXTENTS = 64
_LARGEST = 2**40
"""Limit of offsets, sizes and extents: no memory for state is larger."""
_STATE_KEYS = {"name", "dtype", "shape", "offset", "size", "alignment", "initial_value"}
_KEYS = {"version", "module", "hash", "pools"}


def hashed_content(module_name: str, states: Sequence[StatePlace]) -> list[Any]:
    """Return the content that must be equal for programs to exchange states."""
    return [FORMAT_VERSION, module_name, *map(_hashed, states)]


def layout_document(
    module_name: str, states: Sequence[StatePlace], hash_text: str
) -> dict[str, Any]:
    """Return the JSON object of a layout."""
    pools: dict[str, list[dict[str, Any]]] = {}
    for state in states:
        pools.setdefault(state.pool_name, []).append(_described(state))
    return {"version": FORMAT_VERSION, "module": module_name, "hash": hash_text, "pools": pools}


def _hashed(state: StatePlace) -> list[Any]:
    described = _described(state)
    # Omit the alignment, because it does not change the meaning of the bytes.
    del described["alignment"]
    return [state.pool_name, *described.values()]


def _described(state: StatePlace) -> dict[str, Any]:
    return {
        "name": state.name,
        "dtype": state.dtype,
        "shape": state.shape,
        "offset": state.byte_offset,
        "size": state.size_bytes,
        "alignment": state.alignment,
        "initial_value": state.initial_value,
    }


def parse_document(content: str | bytes) -> tuple[str, list[StatePlace], str]:
    """Return the name of the module, the states and the hash in a file.

    Raises
    ------
    ValueError
        the text is damaged, or of another version; the message says where.
    """
    document = parse_json(_bytes(content), LARGEST_BYTES)
    if not isinstance(document, dict):
        raise ValueError("it is no JSON object")
    version = document.get("version", FORMAT_VERSION)
    if not _is_number(version) or version != FORMAT_VERSION:
        raise ValueError(
            f"it is of version {shown(version)}; this usmp reads version {FORMAT_VERSION}"
        )
    _check_keys(document, _KEYS, "it")
    pools = document["pools"]
    if not isinstance(pools, dict):
        raise ValueError('it has no valid "pools"')
    states = [state for name, listed in pools.items() for state in _states(name, listed)]
    return _text(document, "module", "it"), states, _text(document, "hash", "it")


def _bytes(content: str | bytes) -> bytes:
    if isinstance(content, bytes):
        return content
    try:
        return content.encode()
    except UnicodeEncodeError as error:
        raise ValueError("it is not JSON") from error


def _check_keys(entry: Any, keys: set[str], item: str) -> None:
    if not isinstance(entry, dict):
        raise ValueError(f"{item} is no JSON object")
    for key in sorted(keys - entry.keys()):
        raise ValueError(f'{item} has no "{key}"')
    for key in sorted(entry.keys() - keys):
        raise ValueError(f'{item} has "{shown(key)}", which is unknown')


def _states(pool: str, listed: Any) -> list[StatePlace]:
    item = f'pool "{shown(pool)}"'
    if not isinstance(listed, list) or not listed or not _is_text(pool):
        raise ValueError(f"{item} has no list of states")
    return [_state(pool, entry, f"state {number} of {item}") for number, entry in enumerate(listed)]


def _state(pool: str, entry: Any, item: str) -> StatePlace:
    _check_keys(entry, _STATE_KEYS, item)
    return StatePlace(
        name=_text(entry, "name", item),
        shape=_value(entry, "shape", item, _is_shape),
        dtype=_text(entry, "dtype", item),
        pool_name=pool,
        byte_offset=_value(entry, "offset", item, _is_number),
        size_bytes=_value(entry, "size", item, _is_number),
        alignment=_value(entry, "alignment", item, _is_number),
        initial_value=_text(entry, "initial_value", item),
    )


def _text(entry: dict[str, Any], key: str, item: str) -> str:
    text: str = _value(entry, key, item, _is_text)
    return text


def _value(entry: dict[str, Any], key: str, item: str, is_valid: Callable[[Any], bool]) -> Any:
    if not is_valid(entry[key]):
        raise ValueError(f'{item} has no valid "{key}"')
    return entry[key]


def _is_text(value: Any) -> bool:
    """Return whether a value is text without surrogates, which UTF-8 cannot encode."""
    return isinstance(value, str) and not any("\ud800" <= c <= "\udfff" for c in value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST


def _is_shape(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= _MOST_EXTENTS and all(map(_is_number, value))
