"""Element-wise TFLite operators of several inputs on integers."""

from __future__ import annotations

import numpy as np
import tflite

from usmp.frontend.tflite.context import Context, converts
from usmp.frontend.tflite.file.model import TfliteOperator
from usmp.frontend.tflite.options import (
    fused_limits,
    require_same_quantization,
    require_same_shape,
    require_types,
)
from usmp.ops import quantized
from usmp.ops.quantization import stored_as
from usmp.ops.quantized import Quantization

_WITH_ACTIVATION = {
    "ADD": (tflite.AddOptions, quantized.add, ("int8", "int16", "uint8")),
    "SUB": (tflite.SubOptions, quantized.subtract, ("int8", "int16", "uint8")),
    "MUL": (tflite.MulOptions, quantized.multiply_elements, ("int8", "int16", "uint8")),
    "DIV": (tflite.DivOptions, quantized.divide, ("int8", "int16")),
}


@converts(*_WITH_ACTIVATION)
def convert_arithmetic(context: Context, operator: TfliteOperator) -> None:
    """Append an operator with a fused activation; each tensor has its own quantization."""
    kind, function, types = _WITH_ACTIVATION[operator.name]
    _check_pair(operator, types)
    left, right, output = operator.input(0), operator.input(1), operator.output
    first, second, result = (operator.quantization(t) for t in (left, right, output))
    activation = operator.options(kind).FusedActivationFunction()
    limits = fused_limits(activation, result)
    values = (context.value(left), context.value(right))
    context.set(output, function(context.builder, *values, (first, second, result), limits))


@converts("SQUARED_DIFFERENCE")
def convert_squared_difference(context: Context, operator: TfliteOperator) -> None:
    """Append a SQUARED_DIFFERENCE; each tensor has its own quantization."""
    _check_pair(operator, ("int8", "int16"))
    left, right, output = operator.input(0), operator.input(1), operator.output
    first, second, result = (operator.quantization(t) for t in (left, right, output))
    values = (context.value(left), context.value(right))
    context.set(
        output,
        quantized.squared_difference(
            context.builder, *values, (first, second, result), result.limits()
        ),
    )


@converts("ADD_N")
def convert_add_n(context: Context, operator: TfliteOperator) -> None:
    """Append an ADD_N; all inputs have the same quantization."""
    output = operator.output
    require_types(operator, output, "output", ("int8",))
    inputs = [operator.input(index) for index in range(max(len(operator.inputs), 1))]
    for tensor in inputs:
        require_types(operator, tensor, "input", ("int8",))
        require_same_shape(operator, tensor, output)
        require_same_quantization(operator, inputs[0], tensor)
    before, after = operator.quantization(inputs[0]), operator.quantization(output)
    values = [context.value(tensor) for tensor in inputs]
    context.set(output, quantized.add_all(context.builder, values, before, after))


@converts("MAXIMUM", "MINIMUM")
def convert_maximum_minimum(context: Context, operator: TfliteOperator) -> None:
    """Append a MAXIMUM or MINIMUM; all tensors have the same quantization."""
    _check_pair(operator, ("int8", "int16", "uint8"))
    left, right, output = operator.input(0), operator.input(1), operator.output
    require_same_quantization(operator, left, right)
    require_same_quantization(operator, left, output)
    function = quantized.maximum if operator.name == "MAXIMUM" else quantized.minimum
    values = (context.value(left), context.value(right))
    context.set(output, function(context.builder, *values, stored_as(values[0], left.quantization)))


@converts("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")
def convert_comparison(context: Context, operator: TfliteOperator) -> None:
    """Append a comparison; the quantizations may differ or, except for int8, be missing."""
    left, right, output = operator.input(0), operator.input(1), operator.output
    require_types(operator, left, "input", ("int8", "int16", "uint8"))
    require_types(operator, right, "input", (left.dtype,))
    require_types(operator, output, "output", ("bool",))
    _check_broadcast(operator)
    if left.dtype != "int8" and left.quantization is None and right.quantization is None:
        first = second = Quantization.unscaled(left.dtype)
    else:
        first, second = operator.quantization(left), operator.quantization(right)
    values = (context.value(left), context.value(right))
    name = operator.name.lower()
    context.set(output, quantized.compare(context.builder, name, *values, first, second))


def _check_pair(operator: TfliteOperator, types: tuple[str, ...]) -> None:
    left, right, output = operator.input(0), operator.input(1), operator.output
    require_types(operator, left, "input", types)
    require_types(operator, right, "input", (left.dtype,))
    require_types(operator, output, "output", (left.dtype,))
    _check_broadcast(operator)


def _check_broadcast(operator: TfliteOperator) -> None:
    """Check that both inputs, broadcast together, have the shape of the output.

    Raises
    ------
    UnsupportedModelError
        the inputs cannot be broadcast, or the output has another shape.
    """
    shapes = [operator.input(index).shape for index in (0, 1)]
    output = operator.output
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        shape = None
    if shape != output.shape:
        listed = " and ".join(str(list(s)) for s in shapes)
        raise operator.unsupported(
            f'inputs of shapes {listed} do not give the shape of output "{output.name}", '
            f"{list(output.shape)}"
        )
