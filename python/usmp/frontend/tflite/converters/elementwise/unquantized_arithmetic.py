"""Element-wise TFLite operators on numbers without scales."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import tflite
from tvm import relax

from usmp.frontend.tflite.context import Context, converts
from usmp.frontend.tflite.converters.elementwise.activations import check_unary
from usmp.frontend.tflite.file.model import TfliteOperator
from usmp.frontend.tflite.fused_activations import activated
from usmp.frontend.tflite.options import (
    require_broadcast,
    require_divisor,
    require_inputs,
    require_same_shape,
    require_types,
)
from usmp.ops.real.division import floor_divide, floor_mod

_Table = dict[str, tuple[Callable[..., relax.Expr], tuple[str, ...]]]
"""Operator -> its function, and the element types that were compared with TFLite's kernels."""

_BOOL = ("bool",)
_INT32 = ("int32",)
_REAL = ("float32",)
_REAL_INT32 = ("float32", "int32")
_NUMBERS = ("float32", "int32", "int64")


def _elu(value: relax.Expr) -> relax.Expr:
    below = relax.op.subtract(relax.const(1.0, "float32"), relax.op.exp(value))
    negative = relax.op.multiply(relax.const(-1.0, "float32"), relax.op.nn.relu(below))
    return relax.op.add(negative, relax.op.nn.relu(value))


def _hard_swish(value: relax.Expr) -> relax.Expr:
    gate = relax.op.clip(relax.op.add(value, relax.const(3.0, "float32")), 0.0, 6.0)
    return relax.op.divide(relax.op.multiply(value, gate), relax.const(6.0, "float32"))


def _square(value: relax.Expr) -> relax.Expr:
    return relax.op.power(value, relax.const(2, "float32"))


_UNARY: _Table = {
    "ABS": (relax.op.abs, _REAL_INT32),
    "CEIL": (relax.op.ceil, _REAL),
    "COS": (relax.op.cos, _REAL),
    "ELU": (_elu, _REAL),
    "EXP": (relax.op.exp, _REAL),
    "FLOOR": (relax.op.floor, _REAL),
    "HARD_SWISH": (_hard_swish, _REAL),
    "LOG": (relax.op.log, _REAL),
    "LOGICAL_NOT": (relax.op.logical_not, _BOOL),
    "LOGISTIC": (relax.op.sigmoid, _REAL),
    "NEG": (relax.op.negative, _NUMBERS),
    "RELU": (relax.op.nn.relu, _REAL),
    "RELU6": (partial(relax.op.clip, min=0, max=6), _REAL),
    "RELU_0_TO_1": (partial(relax.op.clip, min=0, max=1), _REAL),
    "RELU_N1_TO_1": (partial(relax.op.clip, min=-1, max=1), _REAL),
    "ROUND": (relax.op.round, _REAL),
    "RSQRT": (relax.op.rsqrt, _REAL),
    "SIGN": (relax.op.sign, _REAL_INT32),
    "SIN": (relax.op.sin, _REAL),
    "SQRT": (relax.op.sqrt, _REAL),
    "SQUARE": (_square, _REAL),
    "TANH": (relax.op.tanh, _REAL),
}


@converts(*_UNARY, quantized=False)
def convert_unary(context: Context, operator: TfliteOperator) -> None:
    """Append a function of each element."""
    function, types = _UNARY[operator.name]
    require_inputs(operator, 1, 1)
    data = operator.input(0)
    require_types(operator, data, "input", types)
    context.set_moved(operator, function(context.value(data)))


def _squared_difference(left: relax.Expr, right: relax.Expr) -> relax.Expr:
    """Return the square as a product, not a power: exact, and defined on integers."""
    difference = relax.op.subtract(left, right)
    return relax.op.multiply(difference, difference)


_BINARY: _Table = {
    "ADD": (relax.op.add, _NUMBERS),
    "ATAN2": (relax.op.atan2, _REAL),
    "BITWISE_XOR": (relax.op.bitwise_xor, _INT32),
    "DIV": (relax.op.divide, _REAL_INT32),
    "EQUAL": (relax.op.equal, (*_NUMBERS, "bool")),
    "GREATER": (relax.op.greater, _NUMBERS),
    "GREATER_EQUAL": (relax.op.greater_equal, _NUMBERS),
    "LESS": (relax.op.less, _NUMBERS),
    "LESS_EQUAL": (relax.op.less_equal, _NUMBERS),
    "LOGICAL_AND": (relax.op.logical_and, _BOOL),
    "LOGICAL_OR": (relax.op.logical_or, _BOOL),
    "MAXIMUM": (relax.op.maximum, _NUMBERS),
    "MINIMUM": (relax.op.minimum, _NUMBERS),
    "MUL": (relax.op.multiply, _NUMBERS),
    "NOT_EQUAL": (relax.op.not_equal, (*_NUMBERS, "bool")),
    "POW": (relax.op.power, _REAL),
    "SQUARED_DIFFERENCE": (_squared_difference, _REAL_INT32),
    "SUB": (relax.op.subtract, _NUMBERS),
}

_WITH_ACTIVATION = {
    "ADD": tflite.AddOptions,
    "DIV": tflite.DivOptions,
    "MUL": tflite.MulOptions,
    "SUB": tflite.SubOptions,
}
"""Operators that may fuse an activation -> their options, which a file may leave out."""


@converts(*_BINARY, quantized=False)
def convert_binary(context: Context, operator: TfliteOperator) -> None:
    """Append a function of two elements."""
    function, types = _BINARY[operator.name]
    require_inputs(operator, 2, 2)
    left, right = _operands(context, operator, types)
    if operator.name == "DIV":
        require_divisor(operator)
    if operator.name == "ATAN2":
        # LiteRT's kernel does not broadcast.
        for tensor in (operator.input(1), operator.output):
            require_same_shape(operator, operator.input(0), tensor)
    result = function(left, right)
    if operator.name in _WITH_ACTIVATION and operator.table.BuiltinOptions() is not None:
        options = operator.options(_WITH_ACTIVATION[operator.name])
        result = activated(result, options.FusedActivationFunction())
    context.set_moved(operator, result)


@converts("ADD_N", quantized=False)
def convert_add_n(context: Context, operator: TfliteOperator) -> None:
    """Append a sum, from the first input to the last; LiteRT's kernel does not broadcast."""
    first = operator.input(0)
    require_types(operator, first, "input", _REAL_INT32)
    total = context.value(first)
    for index in range(1, len(operator.inputs)):
        tensor = operator.input(index)
        require_types(operator, tensor, "input", (first.dtype,))
        require_same_shape(operator, first, tensor)
        total = context.builder.emit(relax.op.add(total, context.value(tensor)))
    context.set_moved(operator, total)


@converts("FLOOR_DIV", "FLOOR_MOD", quantized=False)
def convert_floor(context: Context, operator: TfliteOperator) -> None:
    """Append the quotient that is rounded down, or the remainder that has the divisor's sign."""
    divides = operator.name == "FLOOR_DIV"
    operands = _operands(context, operator, _REAL_INT32 if divides else _NUMBERS)
    require_divisor(operator)
    function = floor_divide if divides else floor_mod
    context.set_moved(operator, function(context.builder, *operands))


@converts("RIGHT_SHIFT", quantized=False)
def convert_right_shift(context: Context, operator: TfliteOperator) -> None:
    """Append a shift by 0 to 31 bits, to which the kernel clamps the second operand."""
    data, amount = _operands(context, operator, _INT32)
    bits = context.builder.emit(relax.op.clip(amount, 0, 31))
    context.set_moved(operator, relax.op.right_shift(data, bits))


_STORED: _Table = {
    "BITWISE_XOR": (relax.op.bitwise_xor, ("int8", "uint8", "int16")),
    "FLOOR_DIV": (relax.op.floor_divide, ("int8", "int16")),
    "FLOOR_MOD": (relax.op.floor_mod, ("int8", "int16")),
    "RIGHT_SHIFT": (relax.op.right_shift, ("int8", "uint8", "int16")),
}
"""Operator -> its function on int32, and the narrower types that its kernels take."""


@converts(*_STORED)
def convert_stored(context: Context, operator: TfliteOperator) -> None:
    """Append a function of integers as they are stored, whatever their scales."""
    function, types = _STORED[operator.name]
    dtype = operator.input(0).dtype
    if operator.name in ("FLOOR_DIV", "FLOOR_MOD"):
        require_divisor(operator)
    wide = []
    for value in _operands(context, operator, types):
        wide.append(context.builder.emit(relax.op.astype(value, "int32")))
    if operator.name == "RIGHT_SHIFT":
        wide[1] = context.builder.emit(relax.op.clip(wide[1], 0, np.iinfo(dtype).bits - 1))
    result = context.builder.emit(function(*wide))
    context.set_moved(operator, relax.op.astype(result, dtype))


@converts("NEG")
def convert_neg(context: Context, operator: TfliteOperator) -> None:
    """Append a NEG of integers as they are stored, whatever their scales; the smallest wraps."""
    check_unary(operator, ("int8", "int16"))
    wide = context.builder.emit(relax.op.astype(context.value(operator.input(0)), "int32"))
    negative = context.builder.emit(relax.op.negative(wide))
    context.set_moved(operator, relax.op.astype(negative, operator.output.dtype))


def _operands(
    context: Context, operator: TfliteOperator, types: tuple[str, ...]
) -> tuple[relax.Expr, relax.Expr]:
    """Return both inputs, after checks of their types and shapes.

    Raises
    ------
    UnsupportedModelError
        the inputs have other types, or cannot be broadcast together.
    """
    left, right = operator.input(0), operator.input(1)
    require_types(operator, left, "input", types)
    require_types(operator, right, "input", (left.dtype,))
    require_broadcast(operator, left, right)
    return context.value(left), context.value(right)
