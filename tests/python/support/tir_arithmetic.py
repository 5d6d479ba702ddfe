"""What the operators of TIR compute, on Python's numbers.

Integers wrap in two's complement, floats are rounded to their type; a vector is a tuple of lanes.
"""

from __future__ import annotations

import ctypes
import functools
import math
import operator
import struct
from collections.abc import Callable
from typing import TypeAlias

import tvm
from tvm import tirx

Number: TypeAlias = int | float
Value: TypeAlias = Number | tuple[Number, ...]


def _quotient(a: Number, b: Number) -> Number:
    """Rounded towards zero if they are integers, as in C."""
    if isinstance(a, float):
        return _float_quotient(a, b)
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _float_quotient(a: float, b: float) -> float:
    if b == 0:
        return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a)
    return a / b


OPERATIONS: dict[type, Callable] = {
    tirx.Add: operator.add,
    tirx.Sub: operator.sub,
    tirx.Mul: operator.mul,
    tirx.Div: _quotient,
    tirx.Mod: lambda a, b: a - b * _quotient(a, b),
    tirx.FloorDiv: operator.floordiv,
    tirx.FloorMod: operator.mod,
    tirx.Min: min,
    tirx.Max: max,
    tirx.BitwiseAnd: operator.and_,
    tirx.BitwiseOr: operator.or_,
    tirx.BitwiseXor: operator.xor,
    tirx.LShift: operator.lshift,
    tirx.RShift: operator.rshift,
}
"""Binary operators whose result has the type of the operands."""

COMPARISONS: dict[type, Callable] = {
    tirx.LT: operator.lt,
    tirx.LE: operator.le,
    tirx.GT: operator.gt,
    tirx.GE: operator.ge,
    tirx.EQ: operator.eq,
    tirx.NE: operator.ne,
}

FUNCTIONS: dict[str, Callable] = {
    "tirx.exp": lambda a: math.exp(min(a, 700.0)),
    "tirx.fabs": abs,
    "tirx.sqrt": lambda a: math.sqrt(a) if a >= 0 else math.nan,
    "tirx.tanh": math.tanh,
}
"""Operators on one float."""


def lanewise(function: Callable, *values: Value) -> Value:
    """`function` of numbers, or of each lane where there are vectors; numbers go with all lanes."""
    if tuple not in map(type, values):
        return function(*values)
    lanes = next(len(value) for value in values if isinstance(value, tuple))
    columns = [value if isinstance(value, tuple) else (value,) * lanes for value in values]
    return tuple(map(function, *columns))


def wrap(value: Value, dtype: object) -> Value:
    """`value` as a type has it: wrapped, cut off or rounded."""
    kind, bits = element_type(str(dtype))
    if isinstance(value, tuple):
        return tuple(_wrap(lane, kind, bits) for lane in value)
    return _wrap(value, kind, bits)


def _wrap(value: Number, kind: str, bits: int) -> Number:
    if kind == "bool":
        return int(value != 0)
    if kind == "float":
        return ctypes.c_float(value).value if bits == 32 else float(value)
    if isinstance(value, float):
        value = int(value) if math.isfinite(value) else 0
    if kind == "uint":
        return value % (1 << bits)
    half = 1 << (bits - 1)
    return (value + half) % (2 * half) - half


def from_bits(bits: int, dtype: object) -> Number:
    """The value of a type that has these bits, which are given as a signed integer."""
    kind, count = element_type(str(dtype))
    if kind == "float":
        return struct.unpack(_FORMATS[count], bits.to_bytes(count // 8, "little", signed=True))[0]
    return _wrap(bits, kind, count)


def to_bits(value: Number, dtype: object) -> int:
    """The bits of a value of a type, as a signed integer."""
    kind, count = element_type(str(dtype))
    if kind == "float":
        packed = struct.pack(_FORMATS[count], _wrap(value, kind, count))
        return int.from_bytes(packed, "little", signed=True)
    return int(value)


_FORMATS = {32: "<f", 64: "<d"}


@functools.cache
def element_type(dtype: str) -> tuple[str, int]:
    """Kind (`int`, `uint`, `float`, `bool`) and bits in memory of one lane of a type."""
    if dtype.startswith("bool"):
        return "bool", 8
    parsed = tvm.DataType(dtype)
    kind = next(kind for kind in ("uint", "int", "float") if dtype.startswith(kind))
    return kind, 8 * int(parsed.itemsize) // int(parsed.lanes)
