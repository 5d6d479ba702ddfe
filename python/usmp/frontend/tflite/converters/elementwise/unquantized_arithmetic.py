"""Element-wise TFLite operators on numbers without scales, where TVM's importer is not exact."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from tvm import relax

from usmp.frontend.tflite.context import Context, converts
from usmp.frontend.tflite.converters.elementwise.activations import check_unary
from usmp.frontend.tflite.file.model import TfliteOperator
from usmp.frontend.tflite.options import require_broadcast, require_divisor, require_types
from usmp.ops.real.division import floor_mod


@converts("SQUARED_DIFFERENCE", quantized=False)
def convert_squared_difference(context: Context, operator: TfliteOperator) -> None:
    """A product, not a power: exact, and defined on integers."""
    left, right = _operands(context, operator, ("float32", "int32"))
    difference = context.builder.emit(relax.op.subtract(left, right))
    context.set_moved(operator, relax.op.multiply(difference, difference))


@converts("FLOOR_MOD", quantized=False)
def convert_floor_mod(context: Context, operator: TfliteOperator) -> None:
    """The remainder that has the sign of the divisor."""
    left, right = _operands(context, operator, ("float32", "int32", "int64"))
    if operator.output.dtype != "float32":
        require_divisor(operator)
    context.set_moved(operator, floor_mod(context.builder, left, right))


_STORED: dict[str, tuple[Callable[..., relax.Expr], tuple[str, ...]]] = {
    "BITWISE_XOR": (relax.op.bitwise_xor, ("int8", "uint8", "int16")),
    "FLOOR_DIV": (relax.op.floor_divide, ("int8", "int16")),
    "FLOOR_MOD": (relax.op.floor_mod, ("int8", "int16")),
    "RIGHT_SHIFT": (relax.op.right_shift, ("int8", "uint8", "int16")),
}
"""Operator -> what it does with int32, and the narrower types for which it has kernels."""


@converts(*_STORED)
def convert_stored(context: Context, operator: TfliteOperator) -> None:
    """Of integers as they are stored, whatever their scales."""
    function, types = _STORED[operator.name]
    dtype = operator.output.dtype
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
    """Of integers as they are stored, whatever their scales; that of the least one is itself."""
    check_unary(operator, ("int8", "int16"))
    wide = context.builder.emit(relax.op.astype(context.value(operator.input(0)), "int32"))
    negative = context.builder.emit(relax.op.negative(wide))
    context.set_moved(operator, relax.op.astype(negative, operator.output.dtype))


def _operands(
    context: Context, operator: TfliteOperator, types: tuple[str, ...]
) -> tuple[relax.Expr, relax.Expr]:
    """Both inputs.

    Raises
    ------
    UnsupportedModelError
        they, or the output, are of other types, or do not go together.
    """
    left, right = operator.input(0), operator.input(1)
    require_types(operator, left, "input", types)
    require_types(operator, right, "input", (left.dtype,))
    require_types(operator, operator.output, "output", (left.dtype,))
    require_broadcast(operator, left, right)
    return context.value(left), context.value(right)
