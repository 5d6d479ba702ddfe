"""SOFTMAX on integers."""

from __future__ import annotations

import math

import tflite

from usmp.relax import quantised
from usmp.relax.tflite.context import Context, converts, reshaped
from usmp.relax.tflite.model import TfliteOperator
from usmp.relax.tflite.options import require_same_shape, require_types


@converts("SOFTMAX")
def convert_softmax(context: Context, operator: TfliteOperator) -> None:
    """Over the last axis."""
    options = operator.options(tflite.SoftmaxOptions)
    data, output = operator.input(0), operator.output
    require_types(operator, data, "input", ("int8", "int16"))
    require_types(
        operator, output, "output", ("int16",) if data.dtype == "int16" else ("int8", "int16")
    )
    require_same_shape(operator, data, output)
    if math.prod(data.shape) == 0 or not data.shape:
        raise operator.unsupported(f'input "{data.name}" has shape {list(data.shape)}')
    before, after = operator.quantisation(data), operator.quantisation(output)
    depth = data.shape[-1]
    rows = reshaped(context, context.value(data), (math.prod(data.shape) // depth, depth))
    function = quantised.softmax_int16 if data.dtype == "int16" else quantised.softmax
    result = function(context.builder, rows, before, after, options.Beta())
    context.set(output, reshaped(context, context.builder.emit(result), output.shape))
