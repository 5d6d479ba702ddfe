"""Activation functions on integers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import tflite
from tvm import relax

from usmp.frontend.tflite.context import Context, converts
from usmp.frontend.tflite.file.model import TfliteOperator
from usmp.frontend.tflite.options import require_same_shape, require_types
from usmp.ops import quantized
from usmp.ops.quantized import activation_limits

_TYPES = ("int8", "int16", "uint8")


@converts("LOGISTIC", "TANH")
def convert_sigmoid(context: Context, operator: TfliteOperator) -> None:
    """Append a LOGISTIC or TANH, whose output quantization TFLite fixes."""
    function = quantized.logistic if operator.name == "LOGISTIC" else quantized.tanh
    _convert_unary(context, operator, function, _TYPES)


@converts("RELU", "RELU6")
def convert_relu(context: Context, operator: TfliteOperator) -> None:
    """Append a RELU or RELU6; the output may have its own quantization."""
    data, output = operator.input(0), operator.output
    check_unary(operator, _TYPES)
    before, after = operator.quantization(data), operator.quantization(output)
    limits = activation_limits(operator.name, after)
    value = context.value(data)
    if operator.name == "RELU6" and before == after:
        context.set(output, quantized.clamp(context.builder, value, limits, after))
    else:
        context.set(output, quantized.relu(context.builder, value, before, after, limits))


@converts("LEAKY_RELU")
def convert_leaky_relu(context: Context, operator: TfliteOperator) -> None:
    """Append a LEAKY_RELU, whose slope is an option."""
    data, output = operator.input(0), operator.output
    check_unary(operator, _TYPES)
    alpha = operator.options(tflite.LeakyReluOptions).Alpha()
    before, after = operator.quantization(data), operator.quantization(output)
    context.set(
        output,
        quantized.leaky_relu(context.builder, context.value(data), before, after, alpha),
    )


@converts("PRELU")
def convert_prelu(context: Context, operator: TfliteOperator) -> None:
    """Append a PRELU; the slopes have 8 bits, and are broadcast to the data."""
    data, slopes, output = operator.input(0), operator.input(1), operator.output
    check_unary(operator, _TYPES)
    require_types(operator, slopes, "slopes", ("uint8" if data.dtype == "uint8" else "int8",))
    check_slopes(operator)
    quantizations = (operator.quantization(t) for t in (data, slopes, output))
    values = (context.value(data), context.value(slopes))
    context.set(output, quantized.prelu(context.builder, *values, *quantizations))


def check_slopes(operator: TfliteOperator) -> None:
    """Check that the slopes of a PRELU can be broadcast to its data.

    Raises
    ------
    UnsupportedModelError
        the slopes have more axes, or an extent that is neither 1 nor that of the data.
    """
    data, slopes = operator.input(0), operator.input(1)
    missing = len(data.shape) - len(slopes.shape)
    if missing < 0 or any(
        extent not in (1, whole)
        for extent, whole in zip(slopes.shape, data.shape[missing:], strict=True)
    ):
        raise operator.unsupported(
            f"slopes of shape {list(slopes.shape)} do not go with data of {list(data.shape)}"
        )


_CURVES = {
    "ELU": (quantized.elu, ("int8",)),
    "EXP": (quantized.exp, ("int8", "int16")),
    "HARD_SWISH": (quantized.hard_swish, ("int8", "uint8")),
    "LOG": (quantized.log, ("int8", "int16")),
    "RSQRT": (quantized.rsqrt, ("int8", "int16")),
    "SQRT": (quantized.sqrt, ("int8", "int16")),
}


@converts(*_CURVES)
def convert_curve(context: Context, operator: TfliteOperator) -> None:
    """Append a function of each element."""
    _convert_unary(context, operator, *_CURVES[operator.name])


@converts("GELU")
def convert_gelu(context: Context, operator: TfliteOperator) -> None:
    """Append a GELU, by the normal distribution or approximated."""
    approximate = bool(operator.options(tflite.GeluOptions).Approximate())
    if operator.input(0).dtype == "int16":
        raise operator.unsupported(
            "on int16 its results depend on the C library that computes LiteRT's table; compute it "
            "on int8 or float32"
        )
    function = partial(quantized.gelu, approximate=approximate)
    _convert_unary(context, operator, function, ("int8", "uint8"))


@converts("ABS")
def convert_abs(context: Context, operator: TfliteOperator) -> None:
    """Append an ABS; the output may have another scale."""
    _convert_unary(context, operator, quantized.abs_, ("int8", "int16"))


def _convert_unary(
    context: Context,
    operator: TfliteOperator,
    function: Callable[..., relax.Expr],
    types: tuple[str, ...],
) -> None:
    data, output = operator.input(0), operator.output
    check_unary(operator, types)
    before, after = operator.quantization(data), operator.quantization(output)
    context.set(output, function(context.builder, context.value(data), before, after))


def check_unary(operator: TfliteOperator, types: tuple[str, ...]) -> None:
    """Check that input and output have the same shape, and the same type, one of `types`.

    Raises
    ------
    UnsupportedModelError
        the shapes or types differ, or the type is not one of `types`.
    """
    data, output = operator.input(0), operator.output
    require_types(operator, data, "input", types)
    require_types(operator, output, "output", (data.dtype,))
    require_same_shape(operator, data, output)
