"""AVERAGE_POOL_2D, MAX_POOL_2D and, on float32, L2_POOL_2D."""

from __future__ import annotations

import tflite
from tvm import relax

from usmp.frontend.tflite.context import Context, converts
from usmp.frontend.tflite.file.model import TfliteOperator
from usmp.frontend.tflite.fused_activations import activated
from usmp.frontend.tflite.options import (
    fused_limits,
    make_window,
    require_inputs,
    require_rank,
    require_types,
    window_sides,
)
from usmp.ops import quantized
from usmp.ops.quantized import Layout


@converts("AVERAGE_POOL_2D", "MAX_POOL_2D")
def convert_pool(context: Context, operator: TfliteOperator) -> None:
    """Append a pooling of integers; input and output have the same scale and zero point."""
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
    kernel, strides = _kernel_and_strides(options)
    window = make_window(operator, kernel, strides, (1, 1), options.Padding())
    limits = fused_limits(options.FusedActivationFunction(), after)
    pool = quantized.average_pool if operator.name == "AVERAGE_POOL_2D" else quantized.max_pool
    value = context.value(data)
    context.set(output, pool(context.builder, value, window, limits, Layout("NHWC"), after))


@converts("AVERAGE_POOL_2D", "L2_POOL_2D", "MAX_POOL_2D", quantized=False)
def convert_float_pool(context: Context, operator: TfliteOperator) -> None:
    """Append a pooling of float32; averages do not count padding."""
    require_inputs(operator, 1, 1)
    options, data = operator.options(tflite.Pool2DOptions), operator.input(0)
    require_types(operator, data, "input", ("float32",))
    require_rank(operator, data, "input", (4,))
    kernel, strides = _kernel_and_strides(options)
    _, before, after = window_sides(operator, kernel, strides, (1, 1), options.Padding())
    pool = relax.op.nn.max_pool2d if operator.name == "MAX_POOL_2D" else relax.op.nn.avg_pool2d
    value = context.value(data)
    if operator.name == "L2_POOL_2D":
        value = relax.op.power(value, relax.const(2, "float32"))
    result = pool(value, kernel, strides, [*before, *after], layout="NHWC")
    if operator.name == "L2_POOL_2D":
        result = relax.op.sqrt(result)
    context.set_moved(operator, activated(result, options.FusedActivationFunction()))


def _kernel_and_strides(options: tflite.Pool2DOptions) -> tuple[tuple[int, int], tuple[int, int]]:
    return (options.FilterHeight(), options.FilterWidth()), (options.StrideH(), options.StrideW())
