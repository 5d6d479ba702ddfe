"""Functions that read the tables of a TFLite file."""

from __future__ import annotations

import inspect
import struct
from functools import cache
from typing import Any

import tflite

from usmp.frontend.tflite.file.unknown_operators import CUSTOM
from usmp.support.errors import UnsupportedModelError
from usmp.support.text.plain_text import shown

READER_ERRORS = (
    struct.error,
    IndexError,
    ValueError,
    TypeError,
    AttributeError,
    OverflowError,
)
"""Errors of the flatbuffer readers if an offset points outside the file."""

_OPERATOR_NAMES: dict[int, str] = {
    number: name for name, number in vars(tflite.BuiltinOperator).items() if name.isupper()
}


def tensor_name(graph: tflite.SubGraph, index: int) -> str:
    """Return the tensor's name, or one made of its index."""
    name: bytes | None = graph.Tensors(index).Name()
    return name.decode("utf-8", errors="replace") if name else f"tensor_{index}"


def operator_name(model: tflite.Model, operator: tflite.Operator) -> str:
    """Return the operator's name, such as "CONV_2D" or 'CUSTOM "Mine"'.

    An operator that is not in the schema is named by its number.
    """
    number = builtin_code(model, operator)
    if number == tflite.BuiltinOperator.CUSTOM:
        custom: bytes = model.OperatorCodes(operator.OpcodeIndex()).CustomCode() or b""
        return custom_operator(custom.decode("utf-8", errors="replace"))
    return _OPERATOR_NAMES.get(number, str(number))


def custom_operator(code: str) -> str:
    """Return the name of a custom operator, such as 'CUSTOM "Mine"'."""
    return f'{CUSTOM}"{shown(code)}"'


def read_options(operator: tflite.Operator, kind: type) -> Any | None:
    """Return the operator's options, read as `kind`, or None if they do not lie in the file."""
    options, table = kind(), operator.BuiltinOptions()
    try:
        options.Init(table.Bytes, table.Pos)
    except READER_ERRORS:
        return None
    return options if is_readable(options) else None


def is_readable(table: Any) -> bool:
    """Return whether every field of a table lies in the file."""
    try:
        for name in _field_names(type(table).__name__):
            getattr(table, name)()
    except READER_ERRORS:
        return False
    return True


@cache
def _field_names(kind: str) -> list[str]:
    """Return the names of the methods, without arguments, that read the fields of a table."""
    return [
        name
        for name, method in vars(getattr(tflite, kind)).items()
        if inspect.isfunction(method) and method.__code__.co_argcount == 1
    ]


def called_once(operator: tflite.Operator) -> int:
    """Return the number of the subgraph that a CALL_ONCE runs, in the first run of the model only.

    Raises
    ------
    UnsupportedModelError
        the operator has no CallOnceOptions.
    """
    table = operator.BuiltinOptions()
    if table is None or operator.BuiltinOptionsType() != tflite.BuiltinOptions.CallOnceOptions:
        raise UnsupportedModelError(
            "the file is damaged: a CALL_ONCE does not say which subgraph it runs"
        )
    options = tflite.CallOnceOptions()
    options.Init(table.Bytes, table.Pos)
    return int(options.InitSubgraphIndex())


def builtin_code(model: tflite.Model, operator: tflite.Operator) -> int:
    """Return the operator's number in the schema; large numbers have a field of their own."""
    code = model.OperatorCodes(operator.OpcodeIndex())
    return int(max(code.BuiltinCode(), code.DeprecatedBuiltinCode()))


def vector(table: Any, field: str) -> list[Any]:
    """Return the numbers of a vector, none if the file leaves it out."""
    values = getattr(table, f"{field}AsNumpy")()
    return [] if isinstance(values, int) else list(values.tolist())
