"""Damaged copies of JSON documents, changed in their fields."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

VALUES = (
    *(None, True, False, 0, 1, -1, 5, 2**31, 2**32 + 1, 2**63, -(2**63), 10**19, 0.5, -1e308),
    *(
        "",
        "x",
        "../../x",
        "/etc/passwd",
        "a\nb",
        "\x1b[31m",
        "\u202e",
        "*/ x /*",
        "int8",
        "n" * 5000,
    ),
    *([], [[]], [1, 2], [0] * 1000, {}, {"": 0}, {"x": {"x": {"x": []}}}),
)


def mutated_fields(document: Any, random: Random) -> Any:
    """The document with some of its fields replaced, removed, renamed, repeated or swapped."""
    document = copy.deepcopy(document)
    for _ in range(random.choice([1, 1, 1, 2, 4])):
        _mutate(document, random)
    return document


def _mutate(document: Any, random: Random) -> None:
    places = list(_places(document))
    if not places:
        return
    holder, key = random.choice(places)
    kind = random.choice(["value", "value", "value", "remove", "rename", "repeat", "swap"])
    if kind == "value":
        holder[key] = copy.deepcopy(random.choice(VALUES))
    elif kind == "remove":
        del holder[key]
    elif kind == "rename" and isinstance(holder, dict):
        holder[random.choice([value for value in VALUES if isinstance(value, str)])] = holder[key]
        holder.pop(key)
    elif kind == "repeat" and isinstance(holder, list):
        holder.append(copy.deepcopy(holder[key]))
    else:
        other, other_key = random.choice(places)
        value, other_value = copy.deepcopy(holder[key]), copy.deepcopy(other[other_key])
        holder[key], other[other_key] = other_value, value


def _places(document: Any) -> Any:
    """Each holder of a field, and its key or index."""
    entries = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in list(entries):
        yield document, key
        if isinstance(value, (dict, list)):
            yield from _places(value)
