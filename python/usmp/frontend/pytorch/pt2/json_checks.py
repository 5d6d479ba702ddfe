"""Checks of values of a JSON file, made of one another; each is an allow-list."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from usmp.support.errors import UnsupportedModelError
from usmp.support.plain_text import printable

Check: TypeAlias = Callable[[Any, str], Any]
"""Takes a value and where in the file it is; returns what is passed on in its place.

Raises
------
NotAllowedError: the value is not one of those that the check lets through.
"""

_LARGEST = 2**63 - 1
_LONGEST_SHOWN = 60


class NotAllowedError(UnsupportedModelError):
    """Something that may run code, or of which it is not known that it runs none."""


def refused(value: Any, where: str, reason: str = "") -> NotAllowedError:
    """The error for a value that no check lets through."""
    shown = printable(repr(value))
    if len(shown) > _LONGEST_SHOWN:
        shown = f"{shown[:_LONGEST_SHOWN]} ..."
    return NotAllowedError(f"{where} is {shown}{reason and f', {reason}'}")


def boolean(value: Any, where: str) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise refused(value, where, "not true or false")
    return value


def integer(value: Any, where: str) -> int:
    """An integer of 64 bits."""
    if not isinstance(value, int) or isinstance(value, bool) or not -_LARGEST <= value <= _LARGEST:
        raise refused(value, where, "not an integer of 64 bits")
    return value


def number(value: Any, where: str) -> float | int | str:
    """A number; PyTorch writes those that JSON does not have as text."""
    if value in ("Infinity", "-Infinity", "NaN") or isinstance(value, float):
        return float(value)
    return integer(value, where)


def text(pattern: str) -> Check:
    """Text that matches the pattern from its beginning to its end."""
    compiled = re.compile(pattern)

    def check(value: Any, where: str) -> str:
        if not isinstance(value, str) or not compiled.fullmatch(value):
            raise refused(value, where, "and may only have letters, digits and some signs")
        return value

    return check


def identifier(value: Any, where: str) -> str:
    """A name as Python has them; PyTorch writes it into Python that it runs."""
    if not isinstance(value, str) or not value.isidentifier():
        raise refused(value, where, "not a plain name")
    return value


def one_of(*values: Any) -> Check:
    """One of a few values."""

    def check(value: Any, where: str) -> Any:
        if not any(type(value) is type(known) and value == known for known in values):
            raise refused(value, where, f"not one of {', '.join(map(repr, values))}")
        return value

    return check


def always(value: Any) -> Check:
    """Whatever it is, `value` is passed on in its place."""
    return lambda _, where: value


def nullable(check: Check) -> Check:
    """What `check` lets through, or null."""
    return lambda value, where: None if value is None else check(value, where)


def list_of(check: Check) -> Check:
    """A list of what `check` lets through."""

    def check_list(value: Any, where: str) -> list[Any]:
        if not isinstance(value, list):
            raise refused(value, where, "not a list")
        return [check(item, f"{where}[{index}]") for index, item in enumerate(value)]

    return check_list


def dict_of(check_key: Check, check_value: Check) -> Check:
    """A dictionary of what the two let through."""

    def check(value: Any, where: str) -> dict[Any, Any]:
        return {
            check_key(key, f"a key of {where}"): check_value(item, f"{where}[{key!r}]")
            for key, item in _entries(value, where)
        }

    return check


def record(fields: Mapping[str, Check]) -> Check:
    """A dictionary with these keys at most; what is missing PyTorch asks for."""

    def check(value: Any, where: str) -> dict[str, Any]:
        passed = {}
        for key, item in _entries(value, where):
            if key not in fields:
                raise refused(key, f"a key of {where}", "which is not known")
            passed[key] = fields[key](item, f"{where}.{key}")
        return passed

    return check


def union(choices: Mapping[str, Check]) -> Check:
    """A dictionary with exactly one key, one of these."""
    check_record = record(choices)

    def check(value: Any, where: str) -> dict[str, Any]:
        if len(_entries(value, where)) != 1:
            raise refused(value, where, "not a value with its kind")
        passed: dict[str, Any] = check_record(value, where)
        return passed

    return check


def _entries(value: Any, where: str) -> list[tuple[str, Any]]:
    if not isinstance(value, dict):
        raise refused(value, where, "not a dictionary")
    return list(value.items())
