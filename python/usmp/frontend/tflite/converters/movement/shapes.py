"""RESHAPE, SQUEEZE and EXPAND_DIMS, which keep the order of elements."""

from __future__ import annotations

import math

from usmp.frontend.tflite.context import Context, converts, reshaped
from usmp.frontend.tflite.file.model import TfliteOperator
from usmp.frontend.tflite.options import require_types


@converts("RESHAPE", "SQUEEZE", "EXPAND_DIMS", moves=True)
def convert_reshape(context: Context, operator: TfliteOperator) -> None:
    """Append the input in the shape that the file gives the output."""
    data, output = operator.input(0), operator.output
    if math.prod(data.shape) != math.prod(output.shape):
        raise operator.unsupported(f"shapes {list(data.shape)} -> {list(output.shape)}")
    if data.dtype == "complex64":
        require_types(operator, output, "output", ("complex64",))
        context.set(output, reshaped(context, context.value(data), (*output.shape, 2)))
        return
    context.set_moved(operator, reshaped(context, context.value(data), output.shape))
