"""The options of custom TFLite operators: a FlexBuffers map of names to numbers.

Source: https://flatbuffers.dev/flexbuffers/
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flatbuffers import flexbuffers

from usmp.frontend.tflite.model import TfliteOperator
from usmp.frontend.tflite.read import READER_ERRORS

_ERRORS = (*READER_ERRORS, AssertionError, KeyError)
"""Also of a name that is missing, which the error has, and of a type that there is not."""


class CustomOptions:
    """The options of a custom operator, by their names.

    Parameters
    ----------
    operator
        whose options are read.

    Raises
    ------
    UnsupportedModelError
        it has none, or they are no map.
    """

    def __init__(self, operator: TfliteOperator) -> None:
        self._operator = operator
        content = operator.table.CustomOptionsAsNumpy()
        if isinstance(content, int) or content.size == 0:
            raise operator.unsupported("it has no custom options")
        try:
            root = flexbuffers.GetRoot(bytearray(content.tobytes()))
            self._map: Any = root.AsMap if root.IsMap else None
        except _ERRORS as error:
            raise self._damaged() from error
        if self._map is None:
            raise operator.unsupported("its custom options are no FlexBuffers map")

    def integer(self, name: str, default: int | None = None) -> int:
        """An option that is an integer.

        Raises
        ------
        UnsupportedModelError
            it is missing and has no default, or is something else.
        """
        value = self._value(name, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._of_another_type(name, "an integer", value)
        return value

    def flag(self, name: str, default: bool) -> bool:
        """An option that is true or false, which may be written as a number.

        Raises
        ------
        UnsupportedModelError
            it is something else.
        """
        value = self._value(name, default)
        if not isinstance(value, int):
            raise self._of_another_type(name, "a boolean", value)
        return bool(value)

    def real(self, name: str) -> float:
        """An option that is a number, rounded to float32.

        Raises
        ------
        UnsupportedModelError
            it is missing, not a number, or something else.
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
            found = self._map[name]
            # What contains others is not read: it could be large.
            value = found.Value if found.IsNumeric or found.IsBool else found
            is_null = found.IsNull
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
