"""Element-wise TFLite operators of several inputs on integers."""

from __future__ import annotations

import numpy as np
import tflite

from usmp.relax import quantised
from usmp.relax.quantised import Quantisation
from usmp.relax.tflite.context import Context, converts
from usmp.relax.tflite.model import TfliteOperator
from usmp.relax.tflite.options import (
    fused_limits,
    require_same_quantisation,
    require_same_shape,
    require_types,
)

_WITH_ACTIVATION = {
    "ADD": (tflite.AddOptions, quantised.add, ("int8", "int16", "uint8")),
    "SUB": (tflite.SubOptions, quantised.subtract, ("int8", "int16", "uint8")),
    "MUL": (tflite.MulOptions, quantised.multiply_elements, ("int8", "int16", "uint8")),
    "DIV": (tflite.DivOptions, quantised.divide, ("int8",)),
}


@converts(*_WITH_ACTIVATION)
def convert_arithmetic(context: Context, operator: TfliteOperator) -> None:
    """Each tensor has a quantisation of its own."""
    kind, function, types = _WITH_ACTIVATION[operator.name]
    _check_pair(operator, types)
    left, right, output = operator.input(0), operator.input(1), operator.output
    first, second, result = (operator.quantisation(t) for t in (left, right, output))
    activation = operator.options(kind).FusedActivationFunction()
    limits = fused_limits(activation, result)
    values = (context.value(left), context.value(right))
    context.set(output, function(context.builder, *values, (first, second, result), limits))


@converts("SQUARED_DIFFERENCE")
def convert_squared_difference(context: Context, operator: TfliteOperator) -> None:
    """Each tensor has a quantisation of its own; no activation can be fused."""
    _check_pair(operator, ("int8", "int16"))
    left, right, output = operator.input(0), operator.input(1), operator.output
    first, second, result = (operator.quantisation(t) for t in (left, right, output))
    values = (context.value(left), context.value(right))
    context.set(
        output,
        quantised.squared_difference(
            context.builder, *values, (first, second, result), result.limits()
        ),
    )


@converts("ADD_N")
def convert_add_n(context: Context, operator: TfliteOperator) -> None:
    """All inputs have the same quantisation."""
    output = operator.output
    require_types(operator, output, "output", ("int8",))
    inputs = [operator.input(index) for index in range(max(len(operator.inputs), 1))]
    for tensor in inputs:
        require_types(operator, tensor, "input", ("int8",))
        require_same_shape(operator, tensor, output)
        require_same_quantisation(operator, inputs[0], tensor)
    before, after = operator.quantisation(inputs[0]), operator.quantisation(output)
    values = [context.value(tensor) for tensor in inputs]
    context.set(output, quantised.add_all(context.builder, values, before, after))


@converts("MAXIMUM", "MINIMUM")
def convert_extreme(context: Context, operator: TfliteOperator) -> None:
    """All tensors have the same quantisation."""
    _check_pair(operator, ("int8", "int16", "uint8"))
    left, right, output = operator.input(0), operator.input(1), operator.output
    require_same_quantisation(operator, left, right)
    require_same_quantisation(operator, left, output)
    context.set(
        output,
        quantised.extreme_of_two(
            context.builder,
            context.value(left),
            context.value(right),
            greatest=operator.name == "MAXIMUM",
        ),
    )


@converts("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")
def convert_comparison(context: Context, operator: TfliteOperator) -> None:
    """Two integers, which may have different quantisations, to bool."""
    left, right, output = operator.input(0), operator.input(1), operator.output
    require_types(operator, left, "input", ("int8", "int16", "uint8"))
    require_types(operator, right, "input", (left.dtype,))
    require_types(operator, output, "output", ("bool",))
    _check_broadcast(operator)
    first, second = (_quantisation(operator, index) for index in (0, 1))
    values = (context.value(left), context.value(right))
    name = operator.name.lower()
    context.set(output, quantised.compare(context.builder, name, *values, first, second))


def _quantisation(operator: TfliteOperator, index: int) -> Quantisation:
    """That of an input; a type that is compared as it is stored needs none."""
    tensor = operator.input(index)
    if tensor.dtype == "int8" or tensor.quantisation is not None:
        return operator.quantisation(tensor)
    return Quantisation(tensor.dtype, (1.0,), (0,))


def _check_pair(operator: TfliteOperator, types: tuple[str, ...]) -> None:
    left, right, output = operator.input(0), operator.input(1), operator.output
    require_types(operator, left, "input", types)
    require_types(operator, right, "input", (left.dtype,))
    require_types(operator, output, "output", (left.dtype,))
    _check_broadcast(operator)


def _check_broadcast(operator: TfliteOperator) -> None:
    """Return if both inputs, broadcast together, have the shape of the output.

    Raises
    ------
    UnsupportedModelError: they have not.
    """
    shapes = [operator.input(index).shape for index in (0, 1)]
    output = operator.output
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        shape = None
    if shape != output.shape:
        given = " and ".join(str(list(s)) for s in shapes)
        raise operator.unsupported(
            f'inputs of shapes {given} do not give the shape of output "{output.name}", '
            f"{list(output.shape)}"
        )
