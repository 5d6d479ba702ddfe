"""SOFTMAX, LOG_SOFTMAX and L2_NORMALIZATION on integers, always over the last axis."""

from __future__ import annotations

import math

import tflite
from tvm import relax

from usmp.frontend.tflite.context import Context, converts, reshaped
from usmp.frontend.tflite.file.model import TfliteOperator
from usmp.frontend.tflite.options import require_same_shape, require_types
from usmp.ops import quantized


@converts("SOFTMAX")
def convert_softmax(context: Context, operator: TfliteOperator) -> None:
    """Append a SOFTMAX: int8 to int8 or int16, int16 and uint8 to their own types."""
    data, output = operator.input(0), operator.output
    require_types(operator, data, "input", ("int8", "int16", "uint8"))
    wider = ("int16",) if data.dtype == "int8" else ()
    require_types(operator, output, "output", (data.dtype, *wider))
    beta = operator.options(tflite.SoftmaxOptions).Beta()
    before, after = operator.quantization(data), operator.quantization(output)
    function = quantized.softmax_int16 if data.dtype == "int16" else quantized.softmax
    rows = _rows(context, operator)
    _set(context, operator, function(context.builder, rows, before, after, beta))


@converts("LOG_SOFTMAX", "L2_NORMALIZATION")
def convert_int8_rows(context: Context, operator: TfliteOperator) -> None:
    """Append a LOG_SOFTMAX or L2_NORMALIZATION of int8."""
    data, output = operator.input(0), operator.output
    require_types(operator, data, "input", ("int8",))
    require_types(operator, output, "output", ("int8",))
    if operator.name == "LOG_SOFTMAX":
        function = quantized.log_softmax
    else:
        function = quantized.l2_normalize
        activation = operator.options(tflite.L2NormOptions).FusedActivationFunction()
        if activation != tflite.ActivationFunctionType.NONE:
            raise operator.unsupported(f"fused activation {activation} is not supported")
    before, after = operator.quantization(data), operator.quantization(output)
    rows = _rows(context, operator)
    _set(context, operator, function(context.builder, rows, before, after))


def _rows(context: Context, operator: TfliteOperator) -> relax.Expr:
    """Return the input as a matrix."""
    data = operator.input(0)
    require_same_shape(operator, data, operator.output)
    if math.prod(data.shape) == 0 or not data.shape:
        raise operator.unsupported(f'input "{data.name}" has shape {list(data.shape)}')
    depth = data.shape[-1]
    return reshaped(context, context.value(data), (math.prod(data.shape) // depth, depth))


def _set(context: Context, operator: TfliteOperator, rows: relax.Expr) -> None:
    shape = operator.output.shape
    context.set(operator.output, reshaped(context, context.builder.emit(rows), shape))
