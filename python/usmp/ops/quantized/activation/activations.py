"""Quantized activation functions."""

from __future__ import annotations

import math

import numpy as np
from tvm import relax, tirx

from usmp.ops.quantized.activation.sigmoid import interpolated_sigmoid, interpolated_tanh
from usmp.ops.quantized.activation.table import exponential, tabulated, tabulated_real
from usmp.ops.quantized.elementwise import elementwise
from usmp.ops.quantized.rescaling import gemmlowp
from usmp.ops.quantized.rescaling.fixed_point import (
    QuantizedMultiplier,
    Rounding,
    apply_multiplier,
    centered,
    factor_of,
    quantize_multiplier,
    round_shift_right,
)
from usmp.ops.quantized.rescaling.parameters import (
    OutputLimits,
    Quantization,
    is_about,
    require_output,
)
from usmp.ops.records.elementwise import Abs, Clamp, LeakyRelu, Logistic, Prelu, Relu, Tanh

_INTEGER_BITS = 4
"""Integer bits of the fixed-point arguments of LOGISTIC and TANH on int8: |x| < 16."""


def clamp(
    builder: relax.BlockBuilder, data: relax.Expr, limits: OutputLimits, both: Quantization
) -> relax.Expr:
    """Clamp each element to the limits; `both` is the quantization of input and output."""
    record = Clamp((both,), (both,), clamp=limits.ends)
    return elementwise(builder, record, lambda x: limits.clamp(x.astype("int32")), [data])


def relu(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    before: Quantization,
    after: Quantization,
    limits: OutputLimits,
    rounding: Rounding = Rounding.TWICE,
) -> relax.Expr:
    """Rescale from one quantization to another, and clamp to the limits."""
    factor = factor_of_relu(before, after, rounding)

    def function(value: tirx.Expr) -> tirx.Expr:
        scaled = apply_multiplier(centered(value, before.zero_point), factor, rounding)
        return limits.shifted(scaled, after.zero_point)

    record = Relu((before,), (after,), clamp=limits.ends, rounding=rounding)
    return elementwise(builder, record, function, [data])


def factor_of_relu(
    before: Quantization, after: Quantization, rounding: Rounding
) -> QuantizedMultiplier:
    """Return the factor from the input scale of `relu` to its output scale."""
    if before.dtype == "uint8" and rounding is Rounding.TWICE:
        # TFLite's kernel, unlike those of tflite-micro, divides in single precision.
        return quantize_multiplier(float(np.float32(before.scale) / np.float32(after.scale)))
    return factor_of((before.scale,), after.scale, rounding)


def leaky_relu(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    before: Quantization,
    after: Quantization,
    alpha: float,
) -> relax.Expr:
    """Return x, or alpha * x where x is negative; 8-bit integers use a table."""
    identity = quantize_multiplier(before.scale / after.scale)
    slope = quantize_multiplier(abs(before.scale * alpha / after.scale))
    limits = after.limits()
    record = LeakyRelu((before,), (after,), alpha=float(alpha))

    def of_integer(value: int) -> int:
        x = value - before.zero_point
        scaled = identity.apply(x) if x >= 0 else slope.apply(x)
        signed = -scaled if x < 0 and alpha < 0 else scaled
        return min(max(signed + after.zero_point, limits.minimum), limits.maximum)

    if before.dtype != "int16":
        return tabulated(builder, record, data, of_integer)

    def function(value: tirx.Expr) -> tirx.Expr:
        x = centered(value, before.zero_point)
        negative = apply_multiplier(x, slope)
        if alpha < 0:
            negative = tirx.IntImm("int32", 0) - negative
        positive = apply_multiplier(x, identity)
        scaled = tirx.Select(x >= tirx.IntImm("int32", 0), positive, negative)
        return limits.shifted(scaled, after.zero_point)

    return elementwise(builder, record, function, [data])


def prelu(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    slopes: relax.Expr | np.ndarray,
    before: Quantization,
    slope: Quantization,
    after: Quantization,
) -> relax.Expr:
    """Return x, or slope * x where x is negative; the slopes are broadcast."""
    identity = quantize_multiplier(before.scale / after.scale)
    factor = quantize_multiplier(before.scale * slope.scale / after.scale)
    limits = after.limits()

    def function(value: tirx.Expr, alpha: tirx.Expr) -> tirx.Expr:
        x = centered(value, before.zero_point)
        negative = apply_multiplier(x * centered(alpha, slope.zero_point), factor)
        positive = apply_multiplier(x, identity)
        scaled = tirx.Select(x >= tirx.IntImm("int32", 0), positive, negative)
        return limits.shifted(scaled, after.zero_point)

    record = Prelu((before, slope), (after,))
    return elementwise(builder, record, function, [data, slopes])


def abs_(
    builder: relax.BlockBuilder, data: relax.Expr, before: Quantization, after: Quantization
) -> relax.Expr:
    """Return |x|."""
    factor = quantize_multiplier(before.scale / after.scale)
    limits = after.limits()

    def function(value: tirx.Expr) -> tirx.Expr:
        x = centered(value, before.zero_point)
        magnitude = tirx.max(x, tirx.IntImm("int32", 0) - x)
        if before.scale != after.scale:
            magnitude = apply_multiplier(magnitude, factor)
        return limits.shifted(magnitude, after.zero_point)

    return elementwise(builder, Abs((before,), (after,)), function, [data])


def logistic(
    builder: relax.BlockBuilder, data: relax.Expr, before: Quantization, after: Quantization
) -> relax.Expr:
    """Return 1 / (1 + exp(-x)).

    From int8 to int8 of scale 1/256 and zero point -128, it is computed in fixed point, like
    tflite-micro; for other 8-bit integers, on real numbers, like TFLite.

    Raises
    ------
    UnsupportedModelError
        int16 with another output scale than 1/32768, zero points, or an input scale of 8/3 or more.
    """
    if before.dtype == "int16":
        require_output(after, 1 / 32768, 0)
        return interpolated_sigmoid(builder, data, before, after)
    if before.dtype == "int8" and is_about(after, 1 / 256, -128):
        record = Logistic((before,), (after,))
        return tabulated(builder, record, data, lambda x: logistic_int8(x, before))
    return tabulated_real(builder, Logistic, data, _logistic, before, after)


def tanh(
    builder: relax.BlockBuilder, data: relax.Expr, before: Quantization, after: Quantization
) -> relax.Expr:
    """Return the hyperbolic tangent.

    From int8 to int8 of scale 1/128 and zero point 0, it is computed in fixed point, like
    tflite-micro; for other 8-bit integers, on real numbers, like TFLite.

    Raises
    ------
    UnsupportedModelError
        int16 with another output scale than 1/32768, zero points, or an input scale of 8/3 or more.
    """
    if before.dtype == "int16":
        require_output(after, 1 / 32768, 0)
        return interpolated_tanh(builder, data, before, after)
    if before.dtype == "int8" and is_about(after, 1 / 128, 0):
        record = Tanh((before,), (after,))
        return tabulated(builder, record, data, lambda x: tanh_int8(x, before))
    return tabulated_real(builder, Tanh, data, _tanh, before, after)


def _logistic(x: np.float32) -> np.float32:
    return np.float32(1) / (np.float32(1) + exponential(-x))


def _tanh(x: np.float32) -> np.float32:
    return np.float32(math.tanh(float(x)))


def logistic_int8(value: int, before: Quantization) -> int:
    """Return LOGISTIC of one int8, as an int8 of scale 1/256 and zero point -128."""
    argument = _fixed_point_argument(value, before)
    result = round_shift_right(gemmlowp.logistic(argument, _INTEGER_BITS), 31 - 8)
    return min(max(result - 128, -128), 127)


def tanh_int8(value: int, before: Quantization) -> int:
    """Return TANH of one int8, as an int8 of scale 1/128 and zero point 0."""
    argument = _fixed_point_argument(value, before)
    result = round_shift_right(gemmlowp.tanh(argument, _INTEGER_BITS), 31 - 7)
    return min(max(result, -128), 127)


def _fixed_point_argument(value: int, before: Quantization) -> int:
    """Return the real number of an integer, in Q4.27 and saturated."""
    mantissa, shift = math.frexp(before.scale * 2 ** (31 - _INTEGER_BITS))
    factor = QuantizedMultiplier(math.floor(mantissa * 2**31 + 0.5), shift)
    radius = input_radius(_INTEGER_BITS, shift)
    difference = value - before.zero_point
    # Test the lower end first, like the reference kernels: the radius is 0 for scales from 8.
    if difference <= -radius:
        return -gemmlowp.INT32_MAX
    if difference >= radius:
        return gemmlowp.INT32_MAX
    return factor.apply(difference)


def input_radius(integer_bits: int, left_shift: int) -> int:
    """Return the greatest magnitude that, shifted left, fits a number of `integer_bits` integer
    bits (TFLite's CalculateInputRadius)."""
    return math.floor(((1 << integer_bits) - 1) * 2.0 ** (31 - integer_bits) / 2.0**left_shift)
