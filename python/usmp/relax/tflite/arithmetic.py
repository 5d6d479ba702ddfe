"""Element-wise TFLite operators of two inputs on integers."""

from __future__ import annotations

import tflite

from usmp.relax import quantised
from usmp.relax.tflite.context import Context, converts
from usmp.relax.tflite.model import TfliteOperator
from usmp.relax.tflite.options import fused_limits, require_types

_TYPES = ("int8", "int16")


@converts("ADD")
def convert_add(context: Context, operator: TfliteOperator) -> None:
    """Both terms are brought to a common scale."""
    options = operator.options(tflite.AddOptions)
    left, right, output = operator.input(0), operator.input(1), operator.output
    require_types(operator, left, "input", _TYPES)
    require_types(operator, right, "input", (left.dtype,))
    require_types(operator, output, "output", (left.dtype,))
    first, second, result = (operator.quantisation(t) for t in (left, right, output))
    limits = fused_limits(operator, options.FusedActivationFunction(), result)
    values = (context.value(left), context.value(right))
    context.set(output, quantised.add(context.builder, *values, (first, second, result), limits))
