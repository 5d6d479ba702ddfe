"""TRANSPOSE_CONV on integers and on float32."""

from __future__ import annotations

import math

import numpy as np
import tflite
from tvm import relax

from usmp.frontend.tflite.context import Context, converts
from usmp.frontend.tflite.file.model import TfliteOperator
from usmp.frontend.tflite.options import (
    fused_activation,
    fused_limits,
    require_rank,
    require_shape,
    require_shape_operand,
    require_symmetric_int16,
    require_types,
    window_side,
)
from usmp.ops import quantized
from usmp.ops.float_transposed_convolution import float_transpose_conv2d
from usmp.ops.quantized import (
    Layout,
    Quantization,
    Rescale,
    Rounding,
    TransposedSide,
    quantize_multiplier,
)

_WEIGHT_TYPES = {
    "int8": ("int8", "int4"),
    "int16": ("int8",),
    "uint8": ("uint8",),
    "float32": ("float32",),
}
_BIAS_TYPES = {
    "int8": ("int32",),
    "int16": ("int64", "int16"),
    "uint8": ("int32",),
    "float32": ("float32",),
}
_FLOAT_LIMITS = {
    "NONE": (-math.inf, math.inf),
    "RELU": (0.0, math.inf),
    "RELU_N1_TO_1": (-1.0, 1.0),
    "RELU6": (0.0, 6.0),
}


@converts("TRANSPOSE_CONV", moves=True)
def convert_transpose_conv(context: Context, operator: TfliteOperator) -> None:
    """Append a TRANSPOSE_CONV; its weight is (output channels, height, width, channels)."""
    options = operator.options(tflite.TransposeConvOptions)
    weight, data, output = operator.input(1), operator.input(2), operator.output
    _check(operator)
    sides = transposed_sides(operator)
    if data.dtype == "float32":
        _convert_float(context, operator, sides)
        return
    scales = operator.weight_quantization(weight, 0)
    if any(scales.zero_points) and data.dtype != "uint8":
        raise operator.unsupported(f"the weight has zero point {scales.zero_points[0]}, not 0")
    result = quantized.transpose_conv2d(
        context.builder,
        context.value(data),
        operator.constant(1),
        _bias(operator),
        sides,
        operator.quantization(data),
        _rescale(operator, scales, options.FusedActivationFunction()),
        Layout("NHWC"),
        scales,
    )
    context.set(output, result)


def _convert_float(
    context: Context, operator: TfliteOperator, sides: tuple[TransposedSide, TransposedSide]
) -> None:
    options = operator.options(tflite.TransposeConvOptions)
    result = float_transpose_conv2d(
        context.builder,
        context.value(operator.input(2)),
        operator.constant(1),
        _bias(operator),
        sides,
    )
    activation = fused_activation(options.FusedActivationFunction())
    if activation not in _FLOAT_LIMITS:
        raise operator.unsupported(
            f"fused activation {activation}; supported: {', '.join(_FLOAT_LIMITS)}"
        )
    if activation != "NONE":
        result = relax.op.clip(context.builder.emit(result), *_FLOAT_LIMITS[activation])
    context.set(operator.output, result)


def _check(operator: TfliteOperator) -> None:
    weight, data, output = operator.input(1), operator.input(2), operator.output
    require_types(operator, data, "input", tuple(_WEIGHT_TYPES))
    require_types(operator, weight, "weight", _WEIGHT_TYPES[data.dtype])
    require_types(operator, output, "output", (data.dtype,))
    require_symmetric_int16(operator, (data, output))


def _check_shapes(operator: TfliteOperator) -> None:
    weight, data, output = operator.input(1), operator.input(2), operator.output
    for tensor, label in ((weight, "weight"), (data, "input"), (output, "output")):
        require_rank(operator, tensor, label, (4,))
    require_shape_operand(operator, 0)
    fits = data.shape[3] == weight.shape[3] and data.shape[0] == output.shape[0]
    if not fits or weight.shape[0] != output.shape[3] or 0 in weight.shape:
        raise operator.unsupported(
            f"shapes {list(data.shape)} -> {list(output.shape)} do not go with a weight of shape "
            f"{list(weight.shape)}"
        )


def _rescale(operator: TfliteOperator, weight: Quantization, activation: int) -> Rescale:
    """Return the kernels' requantization; on uint8, scales are multiplied in single precision."""
    data, output = operator.quantization(operator.input(2)), operator.quantization(operator.output)
    products = [data.scale * scale for scale in weight.scales]
    if data.dtype == "uint8":
        products = [float(np.float32(data.scale) * np.float32(scale)) for scale in weight.scales]
    return Rescale(
        tuple(quantize_multiplier(product / output.scale) for product in products),
        output,
        fused_limits(activation, output),
        Rounding.ONCE_16_BITS if data.dtype == "int16" else Rounding.TWICE,
    )


def transposed_sides(operator: TfliteOperator) -> tuple[TransposedSide, TransposedSide]:
    """Return the extents, stride and padding of a TRANSPOSE_CONV along rows and along columns.

    Raises
    ------
    UnsupportedModelError
        the shapes of data, weight and output do not match, or an option is impossible.
    """
    options = operator.options(tflite.TransposeConvOptions)
    _check_shapes(operator)
    strides = (options.StrideH(), options.StrideW())
    if min(strides) < 1:
        raise operator.unsupported(f"strides {list(strides)} must be at least 1")
    rows, columns = (
        _side(operator, axis, stride, options.Padding()) for axis, stride in enumerate(strides, 1)
    )
    return rows, columns


def _side(operator: TfliteOperator, axis: int, stride: int, padding: int) -> TransposedSide:
    """Return one axis: extents, stride, and the padding of a convolution from output to data."""
    data, output = operator.input(2).shape[axis], operator.output.shape[axis]
    kernel = operator.input(1).shape[axis]
    _, before, _ = window_side(operator, output, kernel, stride, 1, padding)
    return TransposedSide(data, kernel, stride, before, output)


def _bias(operator: TfliteOperator) -> np.ndarray | None:
    tensor, outputs = operator.optional_input(3), operator.output.shape[3]
    if tensor is None:
        return None
    require_types(operator, tensor, "bias", _BIAS_TYPES[operator.input(2).dtype])
    require_shape(operator, tensor, "bias", (outputs,))
    bias = operator.constant(3)
    return bias.astype(np.int64) if bias.dtype == np.int16 else bias
