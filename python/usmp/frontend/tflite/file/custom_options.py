"""The options of custom TFLite operators: a FlexBuffers map of names to numbers.

Source: https://flatbuffers.dev/flexbuffers/
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from flatbuffers import flexbuffers

from usmp.frontend.tflite.file.model import TfliteOperator
from usmp.frontend.tflite.file.read import READER_ERRORS

_ERRORS = (*READER_ERRORS, AssertionError, KeyError)
"""Errors of damaged options; KeyError, with the name as argument, if an option is missing."""

_LONGEST_LIST = 300
"""Most characters of a message that list the options in the file."""


class CustomOptions:
    """The options of a custom operator, by their names.

    Parameters
    ----------
    operator
        the operator whose options are read.

    Raises
    ------
    UnsupportedModelError
        the operator has no options, or they are no map.
    """

    def __init__(self, operator: TfliteOperator) -> None:
        self._operator = operator
        content = _content(operator)
        if not content:
            raise operator.unsupported("it has no custom options")
        try:
            self._map = _map(content)
        except _ERRORS as error:
            raise self._damaged() from error
        if self._map is None:
            raise operator.unsupported("its custom options are no FlexBuffers map")

    def integer(self, name: str, default: int | None = None) -> int:
        """Return an option that is an integer.

        Raises
        ------
        UnsupportedModelError
            the option is missing and has no default, or is no integer.
        """
        value = self._value(name, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._of_another_type(name, "an integer", value)
        return value

    def flag(self, name: str, default: bool) -> bool:
        """Return an option that is a boolean, which may be written as a number.

        Raises
        ------
        UnsupportedModelError
            the option is neither a boolean nor an integer.
        """
        value = self._value(name, default)
        if not isinstance(value, int):
            raise self._of_another_type(name, "a boolean", value)
        return bool(value)

    def real(self, name: str) -> float:
        """Return an option that is a number, rounded to float32.

        Raises
        ------
        UnsupportedModelError
            the option is missing, NaN, or no number.
        """
        value = self._value(name, None)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._of_another_type(name, "a number", value)
        with np.errstate(over="ignore"):
            rounded = float(np.float32(value))
        if np.isnan(rounded):
            raise self._operator.unsupported(f"its option {name} is not a number (NaN)")
        return rounded

    def _value(self, name: str, default: Any) -> Any:
        try:
            entry = self._map[name]
            # Containers are not read, because they could be large.
            value = entry.Value if entry.IsNumeric or entry.IsBool else entry
            is_null = entry.IsNull
        except _ERRORS as error:
            if error.args != (name,):
                raise self._damaged() from error
            is_null = True
        if not is_null:
            return value
        if default is None:
            raise self._operator.unsupported(f"its option {name} is missing")
        return default

    def _of_another_type(self, name: str, expected: str, value: object) -> Exception:
        shown = str(value) if isinstance(value, bool | int | float) else "something else"
        return self._operator.unsupported(f"its option {name} must be {expected}, not {shown}")

    def _damaged(self) -> Exception:
        return self._operator.unsupported(
            "the file is damaged: its custom options point outside of themselves"
        )


def integer_options(
    operator: TfliteOperator, limits: Mapping[str, tuple[int, int]]
) -> dict[str, int]:
    """Return all options of a custom operator by name; they must be integers or booleans.

    Parameters
    ----------
    limits
        the least and the greatest value of each option. Names are in alphabetical order, as the
        kernels read them, and there may be no other options.

    Raises
    ------
    UnsupportedModelError
        options are missing, unknown, or out of their limits.
    """
    content = _content(operator)
    if not content:
        raise operator.unsupported(f"it has no options; it needs {_listed(list(limits))}")
    try:
        values = _integers(content, len(limits))
    except _ERRORS as error:
        raise operator.unsupported(
            f"its options are damaged, or no map of {len(limits)} integers: it needs "
            f"{_listed(list(limits))}"
        ) from error
    if list(values) != list(limits):
        listed = _listed(list(values))[:_LONGEST_LIST]
        raise operator.unsupported(f"it has the options {listed}, not {_listed(list(limits))}")
    for name, (least, greatest) in limits.items():
        if not least <= values[name] <= greatest:
            raise operator.unsupported(
                f"option {name} is {values[name]}; supported: {least} to {greatest}"
            )
    return values


def _integers(content: bytes, count: int) -> dict[str, int]:
    """Read the content as a map of names to `count` integers.

    Raises
    ------
    TypeError
        it is no map, has another number of entries, or has one that is no integer.
    """
    entries = _map(content)
    if entries is None:
        raise TypeError("no map")
    keys, values = entries.Keys, entries.Values
    if len(keys) != count or len(values) != count:
        raise TypeError("another number of entries")
    return {keys[index].AsKey: _integer(values[index]) for index in range(count)}


def _integer(value: flexbuffers.Ref) -> int:
    if not (value.IsInt or value.IsBool):
        raise TypeError("no integer")
    return int(value.AsInt)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names) or "none"


def _content(operator: TfliteOperator) -> bytes:
    """Return the bytes of the options, none if there are no options."""
    table = operator.table
    return bytes(table.CustomOptionsAsNumpy()) if table.CustomOptionsLength() else b""


def _map(content: bytes) -> Any:
    """Return the options as a map, or None if they are no map. Raise one of `_ERRORS` if they are
    damaged."""
    root = flexbuffers.GetRoot(content)
    return root.AsMap if root.IsMap else None
