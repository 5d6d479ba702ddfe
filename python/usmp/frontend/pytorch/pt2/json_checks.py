"""Combinators of checks of JSON values; each check is an allow-list."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from usmp.support.errors import UnsupportedModelError
from usmp.support.text.plain_text import printable

Check: TypeAlias = Callable[[Any, str], Any]
"""A function of a value and its position in the file; returns the value to pass on.

Raises
------
NotAllowedError: the check does not allow the value.
"""

_LARGEST = 2**63 - 1
_LONGEST_SHOWN = 60


class NotAllowedError(UnsupportedModelError):
    """An error about a part of a file that may run code."""


def refused(value: Any, where: str, reason: str = "") -> NotAllowedError:
    """Return the error for a value that is not allowed."""
    shown = printable(repr(value))
    if len(shown) > _LONGEST_SHOWN:
        shown = f"{shown[:_LONGEST_SHOWN]} ..."
    return NotAllowedError(f"{where} is {shown}{reason and f', {reason}'}")


def boolean(value: Any, where: str) -> bool:
    """Check that a value is true or false."""
    if not isinstance(value, bool):
        raise refused(value, where, "not true or false")
    return value


def integer(value: Any, where: str) -> int:
    """Check that a value is an integer of 64 bits."""
    if not isinstance(value, int) or isinstance(value, bool) or not -_LARGEST <= value <= _LARGEST:
        raise refused(value, where, "not an integer of 64 bits")
    return value


def number(value: Any, where: str) -> float | int | str:
    """Check that a value is a number; PyTorch writes infinities and NaN as text."""
    if value in ("Infinity", "-Infinity", "NaN") or isinstance(value, float):
        return float(value)
    return integer(value, where)


def text(pattern: str) -> Check:
    """Return a check that text matches the whole pattern."""
    compiled = re.compile(pattern)

    def check(value: Any, where: str) -> str:
        if not isinstance(value, str) or not compiled.fullmatch(value):
            raise refused(value, where, "and may only have letters, digits and some signs")
        return value

    return check


def identifier(value: Any, where: str) -> str:
    """Check that a value is a Python identifier, because PyTorch writes it into code that runs."""
    if not isinstance(value, str) or not value.isidentifier():
        raise refused(value, where, "not a plain name")
    return value


def one_of(*values: Any) -> Check:
    """Return a check that a value is one of `values`, with the same type."""

    def check(value: Any, where: str) -> Any:
        if not any(type(value) is type(allowed) and value == allowed for allowed in values):
            raise refused(value, where, f"not one of {', '.join(map(repr, values))}")
        return value

    return check


def always(value: Any) -> Check:
    """Return a check that replaces any value by `value`."""
    return lambda _, where: value


def nullable(check: Check) -> Check:
    """Return a check that allows null as well."""
    return lambda value, where: None if value is None else check(value, where)


def list_of(check: Check) -> Check:
    """Return a check of a list, whose elements `check` checks."""

    def check_list(value: Any, where: str) -> list[Any]:
        if not isinstance(value, list):
            raise refused(value, where, "not a list")
        return [check(item, f"{where}[{index}]") for index, item in enumerate(value)]

    return check_list


def dict_of(check_key: Check, check_value: Check) -> Check:
    """Return a check of a dictionary, whose keys and values the two checks check."""

    def check(value: Any, where: str) -> dict[Any, Any]:
        return {
            check_key(key, f"a key of {where}"): check_value(item, f"{where}[{key!r}]")
            for key, item in _entries(value, where)
        }

    return check


def record(fields: Mapping[str, Check]) -> Check:
    """Return a check of a dictionary with these keys at most; PyTorch reports missing keys."""

    def check(value: Any, where: str) -> dict[str, Any]:
        passed = {}
        for key, item in _entries(value, where):
            if key not in fields:
                raise refused(key, f"a key of {where}", "which is not known")
            passed[key] = fields[key](item, f"{where}.{key}")
        return passed

    return check


def union(choices: Mapping[str, Check]) -> Check:
    """Return a check of a dictionary with exactly one key, which is one of these."""
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
