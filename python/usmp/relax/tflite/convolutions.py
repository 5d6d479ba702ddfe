"""CONV_2D, DEPTHWISE_CONV_2D and FULLY_CONNECTED on integers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import tflite
from tvm import relax

from usmp.relax import quantised
from usmp.relax.quantised import Layout, Quantisation, Rescale, Window, quantize_multiplier
from usmp.relax.tflite.context import Context, converts, reshaped
from usmp.relax.tflite.model import TfliteOperator
from usmp.relax.tflite.options import fused_limits, make_window, require_rank, require_types

_NHWC = Layout("NHWC")
_DATA_TYPES = ("int8", "int16")
_WEIGHT_TYPES = ("int8", "int4")


@converts("CONV_2D")
def convert_conv2d(context: Context, operator: TfliteOperator) -> None:
    """The weight is (output channels, height, width, channels / groups)."""
    options = operator.options(tflite.Conv2DOptions)
    _check(operator, 4)
    data, weight = operator.input(0), operator.input(1)
    outputs, height, width, depth = weight.shape
    if depth == 0 or data.shape[3] % depth or outputs % (data.shape[3] // depth):
        raise operator.unsupported(
            f"data of {data.shape[3]} channels does not go with a weight of shape "
            f"{list(weight.shape)}"
        )
    strides = (options.StrideH(), options.StrideW())
    dilations = (options.DilationHFactor(), options.DilationWFactor())
    window = make_window(operator, (height, width), strides, dilations, options.Padding())
    _convolve(
        context,
        operator,
        quantised.conv2d,
        operator.constant(1),
        window,
        outputs,
        0,
        options.FusedActivationFunction(),
    )


@converts("DEPTHWISE_CONV_2D")
def convert_depthwise_conv2d(context: Context, operator: TfliteOperator) -> None:
    """The weight is (1, height, width, output channels)."""
    options = operator.options(tflite.DepthwiseConv2DOptions)
    _check(operator, 4)
    data, weight = operator.input(0), operator.input(1)
    _, height, width, outputs = weight.shape
    if weight.shape[0] != 1 or data.shape[3] == 0 or outputs % data.shape[3]:
        raise operator.unsupported(
            f"data of {data.shape[3]} channels does not go with a weight of shape "
            f"{list(weight.shape)}"
        )
    strides = (options.StrideH(), options.StrideW())
    dilations = (options.DilationHFactor(), options.DilationWFactor())
    window = make_window(operator, (height, width), strides, dilations, options.Padding())
    _convolve(
        context,
        operator,
        quantised.depthwise_conv2d,
        operator.constant(1)[0],
        window,
        outputs,
        3,
        options.FusedActivationFunction(),
    )


def _convolve(
    context: Context,
    operator: TfliteOperator,
    function: Callable[..., relax.Expr],
    weight: np.ndarray,
    window: Window,
    outputs: int,
    axis: int,
    activation: int,
) -> None:
    """Append `function` of a weight whose `axis` is that of its `outputs` channels."""
    data, output = operator.input(0), operator.output
    if output.shape[3] != outputs or output.shape[0] != data.shape[0]:
        raise operator.unsupported(
            f'output "{output.name}" has shape {list(output.shape)}; '
            f"it should have batch {data.shape[0]} and {outputs} channels"
        )
    rescale = _rescale(operator, operator.weight_quantisation(operator.input(1), axis), activation)
    bias = _bias(operator, outputs)
    quantisation = operator.quantisation(data)
    source = context.value(data)
    context.set(
        output,
        function(context.builder, source, weight, bias, window, quantisation, rescale, _NHWC),
    )


def _check(operator: TfliteOperator, rank: int) -> None:
    data, weight, output = operator.input(0), operator.input(1), operator.output
    require_types(operator, data, "input", _DATA_TYPES)
    require_types(operator, weight, "weight", _WEIGHT_TYPES)
    require_types(operator, output, "output", (data.dtype,))
    for tensor, what in ((data, "input"), (weight, "weight"), (output, "output")):
        require_rank(operator, tensor, what, (rank,))


def _rescale(operator: TfliteOperator, weight: Quantisation, activation: int) -> Rescale:
    """Factors in double precision, as the reference kernels compute them."""
    data = operator.quantisation(operator.input(0))
    output = operator.quantisation(operator.output)
    factors = tuple(
        quantize_multiplier(data.scale * scale / output.scale) for scale in weight.scales
    )
    return Rescale(factors, output.zero_point, fused_limits(operator, activation, output))


def _bias(operator: TfliteOperator, outputs: int) -> np.ndarray | None:
    tensor = operator.optional_input(2)
    if tensor is None:
        return None
    wide = operator.input(0).dtype == "int16"
    require_types(operator, tensor, "bias", ("int32", "int64") if wide else ("int32",))
    if tensor.shape != (outputs,):
        raise operator.unsupported(
            f'bias "{tensor.name}" has shape {list(tensor.shape)}; it should be [{outputs}]'
        )
    return operator.constant(2)


@converts("FULLY_CONNECTED")
def convert_fully_connected(context: Context, operator: TfliteOperator) -> None:
    """The weight is (outputs, depth); the data is taken as rows of that depth."""
    options = operator.options(tflite.FullyConnectedOptions)
    data, weight, output = operator.input(0), operator.input(1), operator.output
    require_types(operator, data, "input", _DATA_TYPES)
    require_types(operator, weight, "weight", _WEIGHT_TYPES)
    require_types(operator, output, "output", (data.dtype,))
    require_rank(operator, weight, "weight", (2,))
    if options.WeightsFormat() != 0:
        raise operator.unsupported("shuffled weights are not supported")
    outputs, depth = weight.shape
    size = int(np.prod(data.shape))
    if depth == 0 or size % depth or int(np.prod(output.shape)) != size // depth * outputs:
        raise operator.unsupported(
            f"shapes {list(data.shape)} -> {list(output.shape)} do not go with a weight of shape "
            f"{list(weight.shape)}"
        )
    scales = operator.weight_quantisation(weight, 0)
    rescale = _dense_rescale(operator, scales, options.FusedActivationFunction())
    rows = reshaped(context, context.value(data), (size // depth, depth))
    result = context.builder.emit(
        quantised.fully_connected(
            context.builder,
            rows,
            operator.constant(1),
            _bias(operator, outputs),
            operator.quantisation(data),
            scales.zero_points[0],
            rescale,
        )
    )
    context.set(output, reshaped(context, result, output.shape))


def _dense_rescale(operator: TfliteOperator, weight: Quantisation, activation: int) -> Rescale:
    """A single factor comes of a product in single precision, as in the reference kernels."""
    if not weight.is_per_tensor:
        return _rescale(operator, weight, activation)
    data = operator.quantisation(operator.input(0))
    output = operator.quantisation(operator.output)
    product = float(np.float32(data.scale) * np.float32(weight.scale))
    factor = quantize_multiplier(product / output.scale)
    return Rescale((factor,), output.zero_point, fused_limits(operator, activation, output))
