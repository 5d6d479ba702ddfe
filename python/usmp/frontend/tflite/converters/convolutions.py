"""CONV_2D, DEPTHWISE_CONV_2D and FULLY_CONNECTED on integers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import tflite
from tvm import relax

from usmp.frontend.tflite.context import Context, converts, reshaped
from usmp.frontend.tflite.file.model import TfliteOperator
from usmp.frontend.tflite.options import (
    dense_shape,
    fused_limits,
    make_window,
    require_rank,
    require_shape,
    require_symmetric_int16,
    require_types,
    steps,
)
from usmp.ops import quantized
from usmp.ops.quantized import Layout, Quantization, Rescale, Rounding, Window, quantize_multiplier
from usmp.tir.model_operator import joined_span

_NHWC = Layout("NHWC")
_WEIGHT_TYPES = {"int8": ("int8", "int4"), "int16": ("int8",), "uint8": ("uint8",)}
"""Type of data and output -> types of the weight."""


@converts("CONV_2D")
def convert_conv2d(context: Context, operator: TfliteOperator) -> None:
    """Append a CONV_2D; its weight is (output channels, height, width, channels / groups)."""
    options = operator.options(tflite.Conv2DOptions)
    _check(operator)
    _convolve(
        context,
        operator,
        quantized.conv2d,
        operator.constant(1),
        conv2d_window(operator),
        0,
        options.FusedActivationFunction(),
        _accumulator(operator, options.QuantizedBiasType()),
    )


def conv2d_window(operator: TfliteOperator) -> Window:
    """Return the kernel window of a CONV_2D.

    Raises
    ------
    UnsupportedModelError
        the shapes of data, weight and output do not match, or an option is impossible.
    """
    kernel, outputs = conv2d_kernel(operator)
    return _window(operator, operator.options(tflite.Conv2DOptions), kernel, outputs)


def conv2d_kernel(operator: TfliteOperator) -> tuple[tuple[int, int], int]:
    """Return the extents of the kernel of a CONV_2D, and the number of output channels.

    Raises
    ------
    UnsupportedModelError
        the shapes of data and weight do not match.
    """
    _check_images(operator)
    data, weight = operator.input(0), operator.input(1)
    outputs, height, width, depth = weight.shape
    if 0 in (depth, data.shape[3]) or data.shape[3] % depth or outputs % (data.shape[3] // depth):
        raise operator.unsupported(
            f"data of {data.shape[3]} channels does not go with a weight of shape "
            f"{list(weight.shape)}"
        )
    return (height, width), outputs


@converts("DEPTHWISE_CONV_2D")
def convert_depthwise_conv2d(context: Context, operator: TfliteOperator) -> None:
    """Append a DEPTHWISE_CONV_2D; its weight is (1, height, width, output channels)."""
    options = operator.options(tflite.DepthwiseConv2DOptions)
    _check(operator)
    _convolve(
        context,
        operator,
        quantized.depthwise_conv2d,
        operator.constant(1)[0],
        depthwise_conv2d_window(operator),
        3,
        options.FusedActivationFunction(),
        "int64" if operator.input(0).dtype == "int16" else "int32",
    )


def depthwise_conv2d_window(operator: TfliteOperator) -> Window:
    """Return the kernel window of a DEPTHWISE_CONV_2D.

    Raises
    ------
    UnsupportedModelError
        the shapes of data, weight and output do not match, or an option is impossible.
    """
    kernel, outputs = depthwise_conv2d_kernel(operator)
    return _window(operator, operator.options(tflite.DepthwiseConv2DOptions), kernel, outputs)


def depthwise_conv2d_kernel(operator: TfliteOperator) -> tuple[tuple[int, int], int]:
    """Return the extents of the kernel of a DEPTHWISE_CONV_2D, and the number of output channels.

    Raises
    ------
    UnsupportedModelError
        the shapes of data and weight do not match.
    """
    _check_images(operator)
    data, weight = operator.input(0), operator.input(1)
    _, height, width, outputs = weight.shape
    if weight.shape[0] != 1 or data.shape[3] == 0 or outputs % data.shape[3]:
        raise operator.unsupported(
            f"data of {data.shape[3]} channels does not go with a weight of shape "
            f"{list(weight.shape)}"
        )
    return (height, width), outputs


def _window(
    operator: TfliteOperator,
    options: tflite.Conv2DOptions | tflite.DepthwiseConv2DOptions,
    kernel: tuple[int, int],
    outputs: int,
) -> Window:
    (height, width), (y, x) = steps(options)
    window = make_window(operator, kernel, (height, width), (y, x), options.Padding())
    data, output = operator.input(0), operator.output
    if output.shape[3] != outputs or output.shape[0] != data.shape[0]:
        raise operator.unsupported(
            f'output "{output.name}" has shape {list(output.shape)}; '
            f"it should have batch {data.shape[0]} and {outputs} channels"
        )
    return window


def _convolve(
    context: Context,
    operator: TfliteOperator,
    function: Callable[..., relax.Expr],
    weight: np.ndarray,
    window: Window,
    axis: int,
    activation: int,
    accumulator: str,
) -> None:
    """Append a convolution; `axis` is that of the output channels in the file's weight."""
    data, output = operator.input(0), operator.output
    scales = operator.weight_quantization(operator.input(1), axis)
    (weight_zero_point,) = set(scales.zero_points)
    if weight_zero_point and data.dtype != "uint8":
        raise operator.unsupported(f"the weight has zero point {weight_zero_point}; supported: 0")
    rescale = _rescale(operator, scales, activation, accumulator)
    quantization = operator.quantization(data)
    source = context.value(data)
    if context.readers[data.index] == 1:
        padding = quantized.explicit_padding(
            context.builder, source, quantization.zero_point, _NHWC
        )
        if padding is not None:
            source, window = padding.source, padding.fold(window, _NHWC)
            # The span includes the PAD's, because the convolution now pads.
            context.builder.span = joined_span([padding.span, context.builder.span])
    context.set(
        output,
        function(
            context.builder,
            source,
            weight,
            _bias(operator, output.shape[3], accumulator),
            window,
            quantization,
            rescale,
            _NHWC,
            scales,
        ),
    )


def _accumulator(operator: TfliteOperator, bias_type: int) -> str:
    """Return the type of the accumulators: 64 bits for int16 data, unless the bias has 32."""
    if operator.input(0).dtype != "int16":
        return "int32"
    bias = operator.optional_input(2)
    if bias is None:
        return "int32" if bias_type == tflite.TensorType.INT32 else "int64"
    require_types(operator, bias, "bias", ("int32", "int64"))
    return bias.dtype


def _check(operator: TfliteOperator) -> None:
    """Check that the types of data, weight and output go together."""
    data = operator.input(0)
    require_types(operator, data, "input", tuple(_WEIGHT_TYPES))
    require_types(operator, operator.input(1), "weight", _WEIGHT_TYPES[data.dtype])
    require_types(operator, operator.output, "output", (data.dtype,))
    require_symmetric_int16(operator, (data, operator.output))


def _check_images(operator: TfliteOperator) -> None:
    tensors = (operator.input(0), operator.input(1), operator.output)
    for tensor, label in zip(tensors, ("input", "weight", "output"), strict=True):
        require_rank(operator, tensor, label, (4,))


def _rescale(
    operator: TfliteOperator,
    weight: Quantization,
    activation: int,
    accumulator: str,
) -> Rescale:
    """Return the requantization of TFLite's kernels. For uint8 data and one scale, it multiplies
    scales in single precision."""
    data = operator.quantization(operator.input(0))
    output = operator.quantization(operator.output)
    products = [data.scale * scale for scale in weight.scales]
    if data.dtype == "uint8" and weight.is_per_tensor:
        products = [float(np.float32(data.scale) * np.float32(weight.scale))]
    factors = tuple(quantize_multiplier(product / output.scale) for product in products)
    limits = fused_limits(activation, output)
    rounding = Rounding.ONCE_16_BITS if accumulator == "int64" else Rounding.TWICE
    return Rescale(factors, output, limits, rounding)


def _bias(operator: TfliteOperator, outputs: int, accumulator: str) -> np.ndarray | None:
    tensor = operator.optional_input(2)
    if tensor is None:
        return None
    require_types(operator, tensor, "bias", (accumulator,))
    require_shape(operator, tensor, "bias", (outputs,))
    return operator.constant(2)


@converts("FULLY_CONNECTED")
def convert_fully_connected(context: Context, operator: TfliteOperator) -> None:
    """Append a FULLY_CONNECTED of rows of `depth` elements; its weight is (outputs, depth)."""
    options = operator.options(tflite.FullyConnectedOptions)
    data, weight, output = operator.input(0), operator.input(1), operator.output
    _check(operator)
    count, depth, outputs = dense_shape(operator)
    if weight.data is None:
        _multiply_computed(context, operator, (count, depth), options.FusedActivationFunction())
        return
    scales = operator.weight_quantization(weight, 0)
    accumulator = _accumulator(operator, options.QuantizedBiasType())
    rescale = _rescale(operator, scales, options.FusedActivationFunction(), accumulator)
    if data.dtype == "uint8" or (weight.dtype == "int4" and not scales.is_per_tensor):
        # TFLite Micro has no kernels for these types; LiteRT's round once.
        rescale = replace(rescale, rounding=Rounding.ONCE)
    rows = reshaped(context, context.value(data), (count, depth))
    result = context.builder.emit(
        quantized.fully_connected(
            context.builder,
            rows,
            operator.constant(1),
            _bias(operator, outputs, accumulator),
            operator.quantization(data),
            scales,
            rescale,
        )
    )
    context.set(output, reshaped(context, result, output.shape))


def _multiply_computed(
    context: Context, operator: TfliteOperator, shape: tuple[int, int], activation: int
) -> None:
    """Append a product of two matrices, for a weight that is computed."""
    data, weight, output = operator.input(0), operator.input(1), operator.output
    require_types(operator, data, "input of a computed weight", ("int8",))
    if operator.optional_input(2) is not None:
        raise operator.unsupported(
            f'weight "{weight.name}" is computed, and there is a bias; supported: one or the other'
        )
    quantizations = tuple(operator.quantization(t) for t in (data, weight, output))
    rows = reshaped(context, context.value(data), shape)
    product = quantized.batch_matmul(
        context.builder,
        rows,
        context.value(weight),
        (quantizations[0], quantizations[1], quantizations[2]),
        (False, True),
        fused_limits(activation, quantizations[2]),
    )
    context.set(output, reshaped(context, context.builder.emit(product), output.shape))
