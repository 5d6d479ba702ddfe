"""SOFTMAX and GELU on float32, whose options TVM's importer ignores."""

from __future__ import annotations

import math

import tflite
from tvm import relax

from usmp.frontend.tflite.context import Context, converts, reshaped
from usmp.frontend.tflite.file.model import TfliteOperator
from usmp.frontend.tflite.options import require_same_shape, require_types

_REAL = ("float32",)


@converts("SOFTMAX", quantized=False)
def convert_softmax(context: Context, operator: TfliteOperator) -> None:
    """Over the last axis, whatever the rank, with the factor `beta` of the exponents."""
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


@converts("GELU", quantized=False)
def convert_gelu(context: Context, operator: TfliteOperator) -> None:
    """By the error function, or by TFLite's approximation with tanh."""
    _check(operator)
    value = context.value(operator.input(0))
    if operator.options(tflite.GeluOptions).Approximate():
        result = relax.op.nn.gelu_tanh(value)
    else:
        result = relax.op.nn.gelu(value)
    context.set(operator.output, result)


def _check(operator: TfliteOperator) -> None:
    """Check that input and output are of float32 and the same shape.

    Raises
    ------
    UnsupportedModelError
        they are not.
    """
    data, output = operator.input(0), operator.output
    require_types(operator, data, "input", _REAL)
    require_types(operator, output, "output", _REAL)
    require_same_shape(operator, data, output)
