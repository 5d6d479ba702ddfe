"""CONV_2D, DEPTHWISE_CONV_2D and CONV_3D on float32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tflite
from tvm import relax
from tvm.ir import GenericConst

from usmp.frontend.tflite.context import Context, converts
from usmp.frontend.tflite.converters.convolutions import conv2d_kernel, depthwise_conv2d_kernel
from usmp.frontend.tflite.file.model import TfliteOperator
from usmp.frontend.tflite.fused_activations import activated
from usmp.frontend.tflite.options import (
    require_inputs,
    require_rank,
    require_shape,
    require_types,
    steps,
    window_sides,
)
from usmp.ops.emit import constant

_REAL = ("float32",)


@converts("CONV_2D", quantized=False)
def convert_conv2d(context: Context, operator: TfliteOperator) -> None:
    """Append a CONV_2D; its weight is (output channels, height, width, channels / groups)."""
    _check(operator)
    kernel, outputs = conv2d_kernel(operator)
    weight = _laid_out(context, operator, np.transpose, relax.op.permute_dims, (1, 2, 3, 0))
    groups = operator.input(0).shape[3] // operator.input(1).shape[3]
    options = operator.options(tflite.Conv2DOptions)
    _convolve(context, operator, weight, kernel, outputs, groups, options, ("NHWC", "HWIO"))


@converts("DEPTHWISE_CONV_2D", quantized=False)
def convert_depthwise_conv2d(context: Context, operator: TfliteOperator) -> None:
    """Append a DEPTHWISE_CONV_2D; its weight is (1, height, width, output channels)."""
    _check(operator)
    options = operator.options(tflite.DepthwiseConv2DOptions)
    kernel, outputs = depthwise_conv2d_kernel(operator)
    channels, multiplier = operator.input(0).shape[3], options.DepthMultiplier()
    if channels * multiplier != outputs:
        raise operator.unsupported(
            f"{channels} channels and depth multiplier {multiplier} do not go with a weight of "
            f"{outputs} output channels"
        )
    # A depthwise convolution of one channel is an ordinary convolution.
    shape, layout = ((1, outputs), "HWIO") if channels == 1 else ((outputs, 1), "HWOI")
    weight = _laid_out(context, operator, np.reshape, relax.op.reshape, (*kernel, *shape))
    _convolve(context, operator, weight, kernel, outputs, channels, options, ("NHWC", layout))


@converts("CONV_3D", quantized=False)
def convert_conv3d(context: Context, operator: TfliteOperator) -> None:
    """Append a CONV_3D; its weight is (depth, height, width, channels, output channels)."""
    _check(operator)
    data, weight = operator.input(0), operator.input(1)
    require_rank(operator, data, "input", (5,))
    require_rank(operator, weight, "weight", (5,))
    *kernel, channels, outputs = weight.shape
    if channels != data.shape[4]:
        raise operator.unsupported(
            f"data of {data.shape[4]} channels does not go with a weight of shape "
            f"{list(weight.shape)}"
        )
    options = operator.options(tflite.Conv3DOptions)
    value = context.value(weight)
    _convolve(context, operator, value, tuple(kernel), outputs, 1, options, ("NDHWC", "DHWIO"))


def _check(operator: TfliteOperator) -> None:
    require_inputs(operator, 2, 3)
    require_types(operator, operator.input(0), "input", _REAL)
    require_types(operator, operator.input(1), "weight", _REAL)


def _laid_out(
    context: Context,
    operator: TfliteOperator,
    of_constant: Callable[[np.ndarray, tuple[int, ...]], np.ndarray],
    of_computed: Callable[[relax.Expr, tuple[int, ...]], relax.Expr],
    layout: tuple[int, ...],
) -> relax.Expr:
    """Return the weight with its axes transposed or reshaped; a constant stays a constant."""
    weight = context.value(operator.input(1))
    if isinstance(weight, GenericConst):
        return constant(of_constant(weight.value.numpy(), layout))
    return of_computed(weight, layout)


def _convolve(
    context: Context,
    operator: TfliteOperator,
    weight: relax.Expr,
    kernel: tuple[int, ...],
    outputs: int,
    groups: int,
    options: Any,
    layouts: tuple[str, str],
) -> None:
    """Append the convolution, with its bias and its fused activation.

    Parameters
    ----------
    layouts
        the axes of the data and of the weight; those between batch and channels are the kernel's.
    """
    strides, dilations = steps(options, layouts[0][1:-1])
    _, before, after = window_sides(operator, kernel, strides, dilations, options.Padding())
    function = relax.op.nn.conv2d if len(kernel) == 2 else relax.op.nn.conv3d
    result = function(
        context.value(operator.input(0)),
        weight,
        strides,
        [*before, *after],
        dilations,
        groups,
        *layouts,
    )
    bias = operator.optional_input(2)
    if bias is not None:
        require_types(operator, bias, "bias", _REAL)
        require_shape(operator, bias, "bias", (*[1] * (len(bias.shape) - 1), outputs))
        result = relax.op.add(result, context.value(bias))
    context.set_moved(operator, activated(result, options.FusedActivationFunction()))
