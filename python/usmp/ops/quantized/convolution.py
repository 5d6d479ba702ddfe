"""Quantized convolutions: sums of products over a window, one accumulator an output element.

Elements in padding are the zero point of the data, so they add nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from tvm import relax, te, tirx

from usmp.ops.emit import call_operator, shape_of
from usmp.ops.quantized.rescaling.fixed_point import centered, or_zero
from usmp.ops.quantized.rescaling.parameters import Quantization
from usmp.ops.quantized.rescaling.rescale import Rescale
from usmp.ops.quantized.rescaling.weighted_constants import weighted_constants
from usmp.ops.records.products import Conv2d, DepthwiseConv2d
from usmp.ops.window import Layout, Layouts, Window

Product = Callable[..., tirx.Expr]
"""Returns the summand of output element (b, y, x, c), an expression of reduction axes."""


def conv2d(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    weight: np.ndarray,
    bias: np.ndarray | None,
    window: Window,
    quantization: Quantization,
    rescale: Rescale,
    layout: Layout,
    weight_quantization: Quantization,
    out_layout: Layout | None = None,
) -> relax.Expr:
    """Return the call of a convolution, grouped if the weight has fewer channels than the data.

    Parameters
    ----------
    data
        an image in `layout`, of int8, uint8 or int16.
    weight
        (output channels, kernel height, kernel width, channels / groups).
    bias
        (output channels) of int32 or int64, or None.
    quantization
        quantization of the data.
    weight_quantization
        quantization of the weight, with a single zero point.
    out_layout
        layout of the output; by default, the layout of the data.
    """
    stored_as = out_layout or layout
    outputs, _, _, depth = weight.shape
    weight_zero_point = weight_quantization.zero_points[0]
    batch, _, _, channels = layout.named(shape_of(data))
    per_group = outputs // (channels // depth)
    used_weight, ending = weighted_constants(
        weight.reshape(outputs, -1), weight_zero_point, bias, quantization, rescale
    )

    def compute(data: te.Tensor, weight: te.Tensor, *constants: te.Tensor) -> te.Tensor:
        taps = window.taps()
        inner = te.reduce_axis((0, depth), "ic")

        def product(b: tirx.Var, y: tirx.Var, x: tirx.Var, c: tirx.Var) -> tirx.Expr:
            channel = inner if depth == channels else c // per_group * depth + inner
            position = window.position((y, x), taps)
            value = data[layout.order(b, *position, channel)]
            centered_value = value_inside(window.inside(position), value, quantization.zero_point)
            return centered_value * centered(weight[c, taps[0], taps[1], inner], weight_zero_point)

        shape = (batch, *window.output, outputs)
        axes = [*taps, inner]
        return sum_and_rescale(shape, product, axes, rescale, constants, stored_as)

    arguments = [data, used_weight.reshape(weight.shape), *ending]
    inputs = (quantization, replace(weight_quantization, axis=0))
    record = _record(Conv2d, inputs, rescale, window, Layouts(layout, stored_as))
    return call_operator(builder, "conv2d", compute, arguments, True, record=record)


def depthwise_conv2d(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    weight: np.ndarray,
    bias: np.ndarray | None,
    window: Window,
    quantization: Quantization,
    rescale: Rescale,
    layout: Layout,
    weight_quantization: Quantization,
    out_layout: Layout | None = None,
) -> relax.Expr:
    """Return the call of a depthwise convolution.

    Parameters
    ----------
    weight
        (kernel height, kernel width, output channels); output channel c reads channel
        c // (output channels / channels). See `conv2d` for the other parameters.
    """
    stored_as = out_layout or layout
    outputs = weight.shape[2]
    weight_zero_point = weight_quantization.zero_points[0]
    batch, _, _, channels = layout.named(shape_of(data))
    multiplier = outputs // channels
    used_weight, ending = weighted_constants(
        weight.reshape(-1, outputs).T, weight_zero_point, bias, quantization, rescale
    )

    def compute(data: te.Tensor, weight: te.Tensor, *constants: te.Tensor) -> te.Tensor:
        taps = window.taps()

        def product(b: tirx.Var, y: tirx.Var, x: tirx.Var, c: tirx.Var) -> tirx.Expr:
            position = window.position((y, x), taps)
            value = data[layout.order(b, *position, c // multiplier)]
            centered_value = value_inside(window.inside(position), value, quantization.zero_point)
            return centered_value * centered(weight[taps[0], taps[1], c], weight_zero_point)

        shape = (batch, *window.output, outputs)
        return sum_and_rescale(shape, product, [*taps], rescale, constants, stored_as)

    arguments = [data, used_weight.T.reshape(weight.shape), *ending]
    inputs = (quantization, replace(weight_quantization, axis=2))
    record = _record(DepthwiseConv2d, inputs, rescale, window, Layouts(layout, stored_as))
    return call_operator(builder, "depthwise_conv2d", compute, arguments, True, record=record)


def _record(
    kind: type[Conv2d] | type[DepthwiseConv2d],
    inputs: tuple[Quantization, Quantization],
    rescale: Rescale,
    window: Window,
    layouts: Layouts,
) -> Conv2d | DepthwiseConv2d:
    return kind(
        inputs,
        (rescale.output,),
        layout=layouts,
        strides=window.strides,
        dilations=window.dilations,
        padding=window.padding,
        clamp=rescale.limits.ends,
        rounding=rescale.rounding,
    )


def value_inside(condition: tirx.Expr | None, value: tirx.Expr, zero_point: int) -> tirx.Expr:
    """Return a centered value, int32, or 0 if the condition is false: outside of the data."""
    return or_zero(condition, centered(value, zero_point))


def sum_and_rescale(
    shape: Sequence[int],
    product: Product,
    axes: list[tirx.IterVar],
    rescale: Rescale,
    constants: Sequence[te.Tensor],
    layout: Layout,
) -> te.Tensor:
    """Return the two stages of a convolution: accumulators, and rescaled output elements."""
    dtype = rescale.rounding.accumulator
    accumulator = te.compute(
        layout.order(*shape),
        lambda *i: te.sum(product(*layout.named(i)).astype(dtype), axes),
        "accumulator",
    )

    def output(*indices: tirx.Var) -> tirx.Expr:
        _, _, _, channel = layout.named(indices)
        return rescale.apply(accumulator[indices], channel, constants)

    return te.compute(layout.order(*shape), output, "output")
