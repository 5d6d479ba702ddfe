"""Activations with options or slopes, and functions of a row, on float32."""

from __future__ import annotations

import math

import tflite
from tvm import relax

from usmp.frontend.tflite.context import Context, converts, reshaped
from usmp.frontend.tflite.converters.elementwise.activations import check_slopes
from usmp.frontend.tflite.file.model import TfliteOperator
from usmp.frontend.tflite.options import (
    fused_activation,
    require_inputs,
    require_same_shape,
    require_types,
)

_REAL = ("float32",)


@converts("SOFTMAX", quantized=False)
def convert_softmax(context: Context, operator: TfliteOperator) -> None:
    """Append a SOFTMAX over the last axis, with the factor `beta` of the exponents."""
    data, output = operator.input(0), operator.output
    _check(operator)
    depth = data.shape[-1] if data.shape else 0
    if math.prod(data.shape) == 0 or depth == 0:
        raise operator.unsupported(f'input "{data.name}" has shape {list(data.shape)}')
    beta = operator.options(tflite.SoftmaxOptions).Beta()
    emit = context.builder.emit
    rows = reshaped(context, context.value(data), (math.prod(data.shape) // depth, depth))
    if beta != 1:
        rows = emit(relax.op.multiply(rows, relax.const(beta, "float32")))
    context.set(output, reshaped(context, emit(relax.op.nn.softmax(rows, -1)), output.shape))


@converts("LOG_SOFTMAX", quantized=False)
def convert_log_softmax(context: Context, operator: TfliteOperator) -> None:
    """Append a LOG_SOFTMAX over the last axis."""
    context.set_moved(operator, relax.op.nn.log_softmax(_rows(context, operator)))


@converts("L2_NORMALIZATION", quantized=False)
def convert_l2_normalization(context: Context, operator: TfliteOperator) -> None:
    """Append an L2_NORMALIZATION over the last axis."""
    activation = operator.options(tflite.L2NormOptions).FusedActivationFunction()
    if fused_activation(activation) != "NONE":
        raise operator.unsupported(
            f"fused activation {fused_activation(activation)} is not supported; supported: NONE"
        )
    data = _rows(context, operator)
    axis = len(operator.input(0).shape) - 1
    total = relax.op.sum(relax.op.square(data), axis, keepdims=True)
    norm = relax.op.sqrt(relax.op.add(total, relax.const(1e-12, "float32")))
    context.set_moved(operator, relax.op.divide(data, norm))


def _rows(context: Context, operator: TfliteOperator) -> relax.Expr:
    """Return the only input, which must have an axis."""
    require_inputs(operator, 1, 1)
    data = operator.input(0)
    require_types(operator, data, "input", _REAL)
    if not data.shape:
        raise operator.unsupported(f'input "{data.name}" has shape []')
    return context.value(data)


@converts("GELU", quantized=False)
def convert_gelu(context: Context, operator: TfliteOperator) -> None:
    """Append a GELU, by the error function or by TFLite's approximation with tanh."""
    _check(operator)
    value = context.value(operator.input(0))
    if operator.options(tflite.GeluOptions).Approximate():
        result = relax.op.nn.gelu_tanh(value)
    else:
        result = relax.op.nn.gelu(value)
    context.set(operator.output, result)


@converts("LEAKY_RELU", quantized=False)
def convert_leaky_relu(context: Context, operator: TfliteOperator) -> None:
    """Append a LEAKY_RELU, whose slope is an option."""
    require_inputs(operator, 1, 1)
    data, alpha = operator.input(0), operator.options(tflite.LeakyReluOptions).Alpha()
    require_types(operator, data, "input", _REAL)
    context.set_moved(operator, relax.op.nn.leakyrelu(context.value(data), alpha))


@converts("PRELU", quantized=False)
def convert_prelu(context: Context, operator: TfliteOperator) -> None:
    """Append a PRELU, whose slopes are broadcast to the data."""
    require_inputs(operator, 2, 2)
    data, slopes = operator.input(0), operator.input(1)
    require_types(operator, data, "input", _REAL)
    require_types(operator, slopes, "slopes", _REAL)
    check_slopes(operator)
    wide = context.builder.emit(relax.op.broadcast_to(context.value(slopes), data.shape))
    flat = [relax.op.reshape(value, [-1]) for value in (context.value(data), wide)]
    result = relax.op.nn.prelu(*flat, axis=0)
    context.set_moved(operator, relax.op.reshape(result, data.shape))


def _check(operator: TfliteOperator) -> None:
    """Check that input and output are float32 and have the same shape.

    Raises
    ------
    UnsupportedModelError
        a type is not float32, or the shapes differ.
    """
    data, output = operator.input(0), operator.output
    require_types(operator, data, "input", _REAL)
    require_types(operator, output, "output", _REAL)
    require_same_shape(operator, data, output)
