"""What a TFLite file says, as the readers of its tables give it."""

from __future__ import annotations

import inspect
import struct
from functools import cache
from typing import Any

import tflite

from usmp.frontend.tflite.file.unknown_operators import CUSTOM
from usmp.support.errors import UnsupportedModelError
from usmp.support.plain_text import shown

READER_ERRORS = (
    struct.error,
    IndexError,
    ValueError,
    TypeError,
    AttributeError,
    OverflowError,
)
"""How the flatbuffer readers report an offset that points nowhere."""

_OPERATOR_NAMES: dict[int, str] = {
    number: name for name, number in vars(tflite.BuiltinOperator).items() if name.isupper()
}


def tensor_name(graph: tflite.SubGraph, index: int) -> str:
    """The tensor's name, or one made of its index."""
    name: bytes | None = graph.Tensors(index).Name()
    return name.decode("utf-8", errors="replace") if name else f"tensor_{index}"


def operator_name(model: tflite.Model, operator: tflite.Operator) -> str:
    """What the operator is called, as in "CONV_2D" or 'CUSTOM "Mine"'.

    One that the schema has no name for is called by its number.
    """
    number = builtin_code(model, operator)
    if number == tflite.BuiltinOperator.CUSTOM:
        custom: bytes = model.OperatorCodes(operator.OpcodeIndex()).CustomCode() or b""
        return custom_operator(custom.decode("utf-8", errors="replace"))
    return _OPERATOR_NAMES.get(number, str(number))


def custom_operator(code: str) -> str:
    """What a custom operator is called, as in 'CUSTOM "Mine"'."""
    return f'{CUSTOM}"{shown(code)}"'


def read_options(operator: tflite.Operator, kind: type) -> Any | None:
    """The operator's options, read as `kind`; None if they do not lie in the file."""
    options, table = kind(), operator.BuiltinOptions()
    try:
        options.Init(table.Bytes, table.Pos)
    except READER_ERRORS:
        return None
    return options if is_readable(options) else None


def is_readable(table: Any) -> bool:
    """Whether every field of a table of the file lies in the file."""
    try:
        for name in _field_names(type(table).__name__):
            getattr(table, name)()
    except READER_ERRORS:
        return False
    return True


@cache
def _field_names(kind: str) -> list[str]:
    """The methods of a kind of table that take nothing and return a field, or facts of one."""
    return [
        name
        for name, method in vars(getattr(tflite, kind)).items()
        if inspect.isfunction(method) and method.__code__.co_argcount == 1
    ]


def called_once(operator: tflite.Operator) -> int:
    """The index of the subgraph that a CALL_ONCE runs before everything else, in the first run.

    Raises
    ------
    UnsupportedModelError
        the operator does not say.
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
    """Which operator it is; large numbers stand in a field of their own."""
    code = model.OperatorCodes(operator.OpcodeIndex())
    return int(max(code.BuiltinCode(), code.DeprecatedBuiltinCode()))


def vector(table: Any, field: str) -> list[Any]:
    """The numbers of a vector; none if the file leaves it out."""
    values = getattr(table, f"{field}AsNumpy")()
    return [] if isinstance(values, int) else list(values.tolist())
