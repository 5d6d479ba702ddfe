"""Functions of one integer, most of them as tables that are filled at compile time."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from tvm import relax, tirx

from usmp.ops.quantized.activation.interpolation import interpolated
from usmp.ops.quantized.activation.table import exponential, tabulated, tabulated_real
from usmp.ops.quantized.elementwise import elementwise
from usmp.ops.quantized.rescaling import gemmlowp
from usmp.ops.quantized.rescaling.fixed_point import (
    QuantizedMultiplier,
    int32,
    multiply,
    quantize_multiplier,
    round_shift_right,
)
from usmp.ops.quantized.rescaling.parameters import (
    Quantization,
    integer_limits,
    require_no_zero_points,
)
from usmp.ops.records import QuantizedOp
from usmp.ops.records.elementwise import Elu, Exp, Gelu, HardSwish, Log, Rsqrt, Sqrt
from usmp.support.errors import UnsupportedModelError
from usmp.tir.intrinsics import INVERSE_SQUARE_ROOT, INVERSE_SQUARE_ROOT_SHIFT


def elu(
    builder: relax.BlockBuilder, data: relax.Expr, before: Quantization, after: Quantization
) -> relax.Expr:
    """Return x, or exp(x) - 1 where x is negative."""

    def function(x: np.float32) -> np.float32:
        return exponential(x) - np.float32(1) if x < 0 else x

    return tabulated_real(builder, Elu, data, function, before, after)


def exp(
    builder: relax.BlockBuilder, data: relax.Expr, before: Quantization, after: Quantization
) -> relax.Expr:
    """Return exp(x) of int8 or int16."""
    return _by_table(builder, Exp, data, exponential, before, after)


def log(
    builder: relax.BlockBuilder, data: relax.Expr, before: Quantization, after: Quantization
) -> relax.Expr:
    """Return the logarithm of int8 or int16; the least integer for 0 and negative numbers."""
    least, _ = integer_limits(after.dtype)
    lowest = np.float32(least - after.zero_point) * np.float32(after.scale)

    def function(x: np.float32) -> np.float32:
        return np.float32(math.log(float(x))) if x > 0 else lowest

    return _by_table(builder, Log, data, function, before, after)


def gelu(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    before: Quantization,
    after: Quantization,
    approximate: bool,
) -> relax.Expr:
    """Return x times the cumulative normal distribution at x (8 bits); by tanh if `approximate`."""
    one, half = np.float32(1), np.float32(0.5)
    minus_root = np.float32(-math.sqrt(0.5))

    def by_tanh(x: np.float32) -> np.float32:
        argument = np.float32(math.sqrt(2 / math.pi)) * (x + np.float32(0.044715) * x * x * x)
        return half * x * (one + np.float32(math.tanh(float(argument))))

    def by_distribution(x: np.float32) -> np.float32:
        return half * x * np.float32(math.erfc(float(x * minus_root)))

    function = by_tanh if approximate else by_distribution
    return tabulated_real(builder, Gelu, data, function, before, after)


def _by_table(
    builder: relax.BlockBuilder,
    kind: type[QuantizedOp],
    data: relax.Expr,
    function: Callable[[np.float32], np.float32],
    before: Quantization,
    after: Quantization,
) -> relax.Expr:
    """Apply a function of real numbers: by a full table for 8 bits, interpolated for 16 bits."""
    compute = interpolated if before.dtype == "int16" else tabulated_real
    return compute(builder, kind, data, function, before, after)


def hard_swish(
    builder: relax.BlockBuilder, data: relax.Expr, before: Quantization, after: Quantization
) -> relax.Expr:
    """Return x * relu6(x + 3) / 6, computed in 16-bit fixed-point numbers.

    Raises
    ------
    UnsupportedModelError
        the output's scale is less than 1/128 of the input's.
    """
    fine_scale = np.float32(before.scale) / np.float32(128)
    output_factor = quantize_multiplier(float(fine_scale / np.float32(after.scale)))
    gate_factor = quantize_multiplier(float(fine_scale / (np.float32(3) / np.float32(32768))))
    if output_factor.shift > 0:
        raise UnsupportedModelError(
            f"HARD_SWISH from scale {before.scale} to {after.scale}; "
            f"the latter must be at least {before.scale / 128}"
        )

    least, greatest = integer_limits(after.dtype)

    def function(value: int) -> int:
        fine = (value - before.zero_point) << 7
        gate = (_gate(fine, gate_factor) + (1 << 15)) >> 1
        product = gate * gemmlowp.multiply(fine, _upper_half(output_factor), 16)
        # Round to zero, unlike other products: the reference kernel's two biases cancel out.
        truncated = abs(product) >> 15
        result = truncated if product >= 0 else -truncated
        scaled = round_shift_right(result, -output_factor.shift)
        return min(max(scaled + after.zero_point, least), greatest)

    return tabulated(builder, HardSwish((before,), (after,)), data, function)


def _gate(fine: int, factor: QuantizedMultiplier) -> int:
    """Return the argument over 3, clamped to [-1, 1], with 15 fractional bits."""
    left = factor.shift
    shifted = gemmlowp.saturate(fine << (left - 1), 16) if left > 0 else fine
    scaled = gemmlowp.multiply(shifted, _upper_half(factor), 16)
    return gemmlowp.saturate(scaled << 1, 16) if left > 0 else round_shift_right(scaled, -left)


def _upper_half(factor: QuantizedMultiplier) -> int:
    return min((factor.multiplier + (1 << 15)) >> 16, (1 << 15) - 1)


def rsqrt(
    builder: relax.BlockBuilder, data: relax.Expr, before: Quantization, after: Quantization
) -> relax.Expr:
    """Return 1 / sqrt(x) of int8 or int16; the greatest integer for 0 and negative numbers.

    Raises
    ------
    UnsupportedModelError
        int16 with zero points other than 0, or with scales so great that every result is about 0.
    """
    require_no_zero_points((before, after))
    scale = math.sqrt(before.scale) * after.scale
    factor = quantize_multiplier(1.0 / scale)
    record, limits, fraction = Rsqrt((before,), (after,)), after.limits(), 20

    def of_integer(value: int) -> int:
        x = value - before.zero_point
        if x <= 0:
            return limits.maximum
        multiplier, shift = gemmlowp.inverse_square_root(x)
        root = QuantizedMultiplier(multiplier, shift + fraction).apply(1)
        scaled = QuantizedMultiplier(factor.multiplier, factor.shift - fraction).apply(root)
        return min(max(scaled + after.zero_point, limits.minimum), limits.maximum)

    if before.dtype != "int16":
        return tabulated(builder, record, data, of_integer)
    if factor.shift < fraction - 31:
        raise UnsupportedModelError(
            f"RSQRT from scale {before.scale} to {after.scale}: 1 / sqrt of the smallest step is "
            f"{1.0 / scale} steps of the output; at least 2**{fraction - 32} are supported"
        )

    def function(value: tirx.Expr) -> tirx.Expr:
        x = value.astype("int32")
        multiplier = tirx.call_pure_extern("int32", INVERSE_SQUARE_ROOT, x)
        shift = tirx.call_pure_extern("int32", INVERSE_SQUARE_ROOT_SHIFT, x)
        root = multiply(int32(1), multiplier, shift + int32(fraction))
        scaled = multiply(root, factor.multiplier, factor.shift - fraction)
        greatest = tirx.IntImm("int16", limits.maximum)
        return tirx.Select(x > int32(0), limits.clamp(scaled), greatest)

    return elementwise(builder, record, function, [data])


def sqrt(
    builder: relax.BlockBuilder, data: relax.Expr, before: Quantization, after: Quantization
) -> relax.Expr:
    """Return the square root of int8 or int16, truncated to an integer; 0 for negative numbers.

    Computed in single precision, like the reference kernel; int16 is too wide for a full table.

    Raises
    ------
    UnsupportedModelError
        int16 with zero points other than 0.
    """
    require_no_zero_points((before, after))
    record, limits = Sqrt((before,), (after,)), after.limits()
    scales = np.float32(before.scale), np.float32(after.scale)

    def of_integer(value: int) -> int:
        real = scales[0] * np.float32(max(value - before.zero_point, 0))
        steps = np.trunc(np.sqrt(real) / scales[1])
        return int(min(max(steps + after.zero_point, limits.minimum), limits.maximum))

    if before.dtype != "int16":
        return tabulated(builder, record, data, of_integer)

    def function(value: tirx.Expr) -> tirx.Expr:
        scale, step, greatest = (
            tirx.FloatImm("float32", float(number)) for number in (*scales, limits.maximum)
        )
        x = tirx.max(value.astype("float32"), tirx.FloatImm("float32", 0.0))
        steps = tirx.min(tirx.sqrt(scale * x) / step, greatest)
        return steps.astype("int32").astype("int16")

    return elementwise(builder, record, function, [data])
