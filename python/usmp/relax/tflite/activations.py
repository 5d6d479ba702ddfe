"""Activation functions on integers."""

from __future__ import annotations

from usmp.relax import quantised
from usmp.relax.quantised import activation_limits
from usmp.relax.tflite.context import Context, converts
from usmp.relax.tflite.model import TfliteOperator
from usmp.relax.tflite.options import require_same_shape, require_types

_TYPES = ("int8", "int16")


@converts("LOGISTIC", "TANH")
def convert_sigmoid(context: Context, operator: TfliteOperator) -> None:
    """Functions whose output always has the same quantisation."""
    data, output = operator.input(0), operator.output
    check_unary(operator, _TYPES)
    function = quantised.logistic if operator.name == "LOGISTIC" else quantised.tanh
    before, after = operator.quantisation(data), operator.quantisation(output)
    context.set(output, function(context.builder, context.value(data), before, after))


@converts("RELU")
def convert_relu(context: Context, operator: TfliteOperator) -> None:
    """The output may have a quantisation of its own."""
    data, output = operator.input(0), operator.output
    check_unary(operator, _TYPES)
    before, after = operator.quantisation(data), operator.quantisation(output)
    limits = activation_limits("RELU", after)
    context.set(output, quantised.relu(context.builder, context.value(data), before, after, limits))


@converts("RELU6")
def convert_relu6(context: Context, operator: TfliteOperator) -> None:
    """Only moved into the limits."""
    data, output = operator.input(0), operator.output
    check_unary(operator, _TYPES)
    before, after = operator.quantisation(data), operator.quantisation(output)
    if before != after:
        raise operator.unsupported(
            f"input and output must have the same scale and zero point, not {before.scale} and "
            f"{before.zero_point}, {after.scale} and {after.zero_point}"
        )
    limits = activation_limits(operator.name, after)
    context.set(output, quantised.clamp(context.builder, context.value(data), limits))


def check_unary(operator: TfliteOperator, types: tuple[str, ...]) -> None:
    """Return if input and output have one of these types, the same, and the same shape.

    Raises
    ------
    UnsupportedModelError: they have not.
    """
    data, output = operator.input(0), operator.output
    require_types(operator, data, "input", types)
    require_types(operator, output, "output", (data.dtype,))
    require_same_shape(operator, data, output)
