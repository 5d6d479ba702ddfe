"""Constant weights and biases of convolutions and matrix products."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

import numpy as np
from tvm import relax
from tvm.ir import Call

from usmp.ops.emit import shape_of
from usmp.ops.quantized import Quantization, Rescale
from usmp.ops.quantized.rescaling.accumulators import accumulator_range
from usmp.ops.quantized.rescaling.fixed_point import factor_of
from usmp.ops.views import RESHAPES
from usmp.relax.transform.qdq.check_int32_range import check_int32_range
from usmp.relax.transform.qdq.graph import Graph, Output
from usmp.relax.transform.qdq.operands import IntegerConstant, integer_constant, real_constant
from usmp.support.errors import UnsupportedModelError

_BIAS_ERROR = 0.25
"""Largest error of a rounded bias, in steps of the output."""
_SCALE_TOLERANCE = 1e-5
"""Relative tolerance between the scale of a stored bias and that of the accumulators."""

Bias: TypeAlias = "np.ndarray | IntegerConstant"
"""Real numbers, or quantized integers, one a channel."""


def with_bias(graph: Graph, expr: relax.Expr, *operators: str) -> tuple[Call | None, Bias | None]:
    """Return the call of one of the operators, and the bias that is added to its result."""
    call = graph.call(expr, *operators)
    if call is not None:
        return call, None
    addition = graph.call(expr, "relax.add")
    if addition is None:
        return None, None
    for product, other in (addition.args, reversed(addition.args)):
        call, bias = graph.call(product, *operators), _constant_bias(graph, other)
        if call is not None and bias is not None and shape_of(call) == shape_of(addition):
            return call, bias
    return None, None


def _constant_bias(graph: Graph, expr: relax.Expr) -> Bias | None:
    """Return a constant bias: as integers if it is stored as an int32 vector, else as real
    numbers."""
    vector = expr
    while (view := graph.call(vector, *RESHAPES)) is not None:
        vector = view.args[0]
    stored = integer_constant(graph, vector)
    is_vector = stored is not None and stored.values.ndim == 1
    if stored is None or not is_vector or stored.values.dtype != np.int32:
        return real_constant(graph, expr)
    axis = [index for index, extent in enumerate(shape_of(expr)) if extent != 1]
    if len(axis) != 1 or any(stored.quantization.zero_points):
        return real_constant(graph, expr)
    return IntegerConstant(
        stored.values.reshape(shape_of(expr)), replace(stored.quantization, axis=axis[0])
    )


def is_supported(weight: IntegerConstant, data: Quantization) -> bool:
    """Return whether integer operators support the weights, whose first axis is output channels."""
    scales = weight.quantization
    if weight.values.dtype not in (np.int8, np.uint8) or data.dtype == "int16":
        return False
    return scales.is_per_tensor or (scales.axis == 0 and not any(scales.zero_points))


def rescale_and_bias(
    weight: IntegerConstant,
    bias: Bias | None,
    axis: int,
    shape: tuple[int, ...],
    data: Quantization,
    output: Output,
) -> tuple[Rescale, np.ndarray | None]:
    """Return the requantization of the accumulators, and the bias at their scale.

    Parameters
    ----------
    weight
        weights, with output channels as first axis.
    bias
        the bias that is added to the result.
    axis
        axis of output channels in the result.
    shape
        shape of the result.

    Raises
    ------
    UnsupportedModelError
        the bias is not one number a channel, or accumulators of 32 bits are too small, or their
        scale is too coarse for the bias.
    """
    channels = shape[axis]
    weight_scales = weight.quantization.scales
    scales = data.scale * np.broadcast_to(weight_scales, channels)
    factors = scales / output.quantization.scale
    stored = None if bias is None else _integer_bias(bias, axis, shape, scales, factors)
    centered = weight.values.reshape(channels, -1).astype(np.int64)
    centered -= weight.quantization.zero_points[0]
    accumulators = accumulator_range(centered, stored, data, "int32")
    for channel, factor in enumerate(factors):
        reach = max(-int(accumulators.least[channel]), int(accumulators.greatest[channel]))
        check_int32_range(reach, float(factor))
    after = output.quantization
    multipliers = [factor_of((data.scale, s), after.scale, output.rounding) for s in weight_scales]
    return Rescale(tuple(multipliers), after, output.limits, output.rounding), stored


def _integer_bias(
    bias: Bias, axis: int, shape: tuple[int, ...], scales: np.ndarray, factors: np.ndarray
) -> np.ndarray:
    if isinstance(bias, IntegerConstant):
        values = bias.values.reshape((1,) * (len(shape) - bias.values.ndim) + bias.values.shape)
        steps = np.broadcast_to(bias.quantization.scales, scales.shape[:1])
        if values.shape[axis] == shape[axis] and np.allclose(steps, scales, _SCALE_TOLERANCE, 0):
            return values.reshape(-1)
        bias = bias.real()
    aligned = bias.reshape((1,) * (len(shape) - bias.ndim) + bias.shape)
    if aligned.size != aligned.shape[axis]:
        raise UnsupportedModelError("a bias that is not one number a channel")
    exact = np.broadcast_to(aligned.reshape(-1), (shape[axis],)) / scales
    if not np.all(np.abs(exact) < 2**31 - 1):
        raise UnsupportedModelError("a bias takes more than 32 bits")
    rounded: np.ndarray = np.rint(exact).astype(np.int32)
    if np.any(np.abs(exact - rounded) * factors > _BIAS_ERROR):
        raise UnsupportedModelError("the steps of the accumulators are too great for the bias")
    return rounded
