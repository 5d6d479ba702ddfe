"""AVERAGE_POOL_2D and MAX_POOL_2D on integers."""

from __future__ import annotations

import tflite

from usmp.frontend.tflite.context import Context, converts
from usmp.frontend.tflite.file.model import TfliteOperator
from usmp.frontend.tflite.options import fused_limits, make_window, require_rank, require_types
from usmp.ops import quantized
from usmp.ops.quantized import Layout


@converts("AVERAGE_POOL_2D", "MAX_POOL_2D")
def convert_pool(context: Context, operator: TfliteOperator) -> None:
    """Input and output have the same scale and zero point."""
    options = operator.options(tflite.Pool2DOptions)
    data, output = operator.input(0), operator.output
    require_types(operator, data, "input", ("int8", "int16", "uint8"))
    require_types(operator, output, "output", (data.dtype,))
    require_rank(operator, data, "input", (4,))
    require_rank(operator, output, "output", (4,))
    if (data.shape[0], data.shape[3]) != (output.shape[0], output.shape[3]):
        raise operator.unsupported(
            f"shapes {list(data.shape)} -> {list(output.shape)}; batch and channels must be alike"
        )
    before, after = operator.quantization(data), operator.quantization(output)
    if abs(before.scale - after.scale) > 1e-6 or before.zero_point != after.zero_point:
        raise operator.unsupported(
            f"input and output must have the same scale and zero point, not {before.scale} and "
            f"{before.zero_point}, {after.scale} and {after.zero_point}"
        )
    kernel = (options.FilterHeight(), options.FilterWidth())
    strides = (options.StrideH(), options.StrideW())
    window = make_window(operator, kernel, strides, (1, 1), options.Padding())
    limits = fused_limits(options.FusedActivationFunction(), after)
    pool = quantized.average_pool if operator.name == "AVERAGE_POOL_2D" else quantized.max_pool
    value = context.value(data)
    context.set(output, pool(context.builder, value, window, limits, Layout("NHWC"), after))
