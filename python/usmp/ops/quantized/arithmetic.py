"""Quantized sums, differences, products and quotients of tensors that are broadcast together.

`quantizations` are always the quantizations of left, right and output.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from tvm import relax, tirx
from tvm.ir import GenericConst

from usmp.ops.quantized.elementwise import elementwise
from usmp.ops.quantized.rescaling.fixed_point import (
    QuantizedMultiplier,
    Rounding,
    apply_multiplier,
    centered,
    factor_of,
    quantize_multiplier,
)
from usmp.ops.quantized.rescaling.parameters import (
    OutputLimits,
    Quantization,
    farthest,
    require_no_zero_points,
)
from usmp.ops.records import KINDS
from usmp.ops.records.elementwise import (
    Add,
    AddN,
    Divide,
    LimitedOp,
    Maximum,
    Minimum,
    Multiply,
    SquaredDifference,
    Subtract,
)
from usmp.support.errors import UnsupportedModelError
from usmp.tir.intrinsics import DIVIDE

Quantizations = tuple[Quantization, Quantization, Quantization]
Combination = Callable[[tirx.Expr, tirx.Expr], tirx.Expr]
Factors = tuple[QuantizedMultiplier, QuantizedMultiplier, QuantizedMultiplier]
"""Factors from left and right to a common scale, and from the common scale to the output."""


def add(
    builder: relax.BlockBuilder,
    left: relax.Expr | np.ndarray,
    right: relax.Expr | np.ndarray,
    quantizations: Quantizations,
    limits: OutputLimits,
) -> relax.Expr:
    """Return left + right."""
    return _sum_or_difference(builder, Add, left, right, quantizations, limits, tirx.Add)


def subtract(
    builder: relax.BlockBuilder,
    left: relax.Expr | np.ndarray,
    right: relax.Expr | np.ndarray,
    quantizations: Quantizations,
    limits: OutputLimits,
) -> relax.Expr:
    """Return left - right."""
    return _sum_or_difference(builder, Subtract, left, right, quantizations, limits, tirx.Sub)


def _sum_or_difference(
    builder: relax.BlockBuilder,
    kind: type[LimitedOp],
    left: relax.Expr | np.ndarray,
    right: relax.Expr | np.ndarray,
    quantizations: Quantizations,
    limits: OutputLimits,
    combine: Combination,
) -> relax.Expr:
    factors, left_shift = factors_of_sum(quantizations)
    function = _at_common_scale(quantizations, factors, left_shift, limits, combine)
    return elementwise(builder, _record(kind, quantizations, limits), function, [left, right])


def factors_of_sum(quantizations: Quantizations) -> tuple[Factors, int]:
    """Return the factors of a sum or difference, and the fractional bits of its terms."""
    first, second, output = quantizations
    twice = 2.0 * max(first.scale, second.scale)
    # The most fractional bits with which the sum does not overflow.
    left_shift = 15 if output.dtype == "int16" else 20
    factors = (
        quantize_multiplier(first.scale / twice),
        quantize_multiplier(second.scale / twice),
        quantize_multiplier(twice / (float(1 << left_shift) * output.scale)),
    )
    return factors, left_shift


def _record(kind: type[LimitedOp], quantizations: Quantizations, limits: OutputLimits) -> LimitedOp:
    first, second, output = quantizations
    return kind((first, second), (output,), clamp=limits.ends)


def squared_difference(
    builder: relax.BlockBuilder,
    left: relax.Expr | np.ndarray,
    right: relax.Expr | np.ndarray,
    quantizations: Quantizations,
    limits: OutputLimits,
) -> relax.Expr:
    """Return (left - right)**2.

    Raises
    ------
    UnsupportedModelError
        int16 with zero points other than 0.
    """
    require_no_zero_points(quantizations)
    first, second, output = quantizations
    twice = 2.0 * max(first.scale, second.scale)
    # The most fractional bits with which the square does not overflow.
    left_shift = 0 if output.dtype == "int16" else 7
    factors = (
        quantize_multiplier(first.scale / twice),
        quantize_multiplier(second.scale / twice),
        quantize_multiplier(twice * twice / (float(1 << 2 * left_shift) * output.scale)),
    )

    def square(left: tirx.Expr, right: tirx.Expr) -> tirx.Expr:
        return (left - right) * (left - right)

    function = _at_common_scale(quantizations, factors, left_shift, limits, square)
    record = _record(SquaredDifference, quantizations, limits)
    return elementwise(builder, record, function, [left, right])


def _at_common_scale(
    quantizations: Quantizations,
    factors: Factors,
    left_shift: int,
    limits: OutputLimits,
    combine: Combination,
) -> Combination:
    """Return a function that combines terms at a common scale, and rescales to the output."""
    first, second, output = quantizations

    def function(left: tirx.Expr, right: tirx.Expr) -> tirx.Expr:
        total = combine(
            _scaled(left, first, left_shift, factors[0]),
            _scaled(right, second, left_shift, factors[1]),
        )
        return limits.shifted(apply_multiplier(total, factors[2]), output.zero_point)

    return function


def _scaled(
    value: tirx.Expr, quantization: Quantization, left_shift: int, factor: QuantizedMultiplier
) -> tirx.Expr:
    """Return a centered value times a factor, with `left_shift` fractional bits."""
    term = centered(value, quantization.zero_point) * tirx.IntImm("int32", 1 << left_shift)
    return apply_multiplier(term, factor)


def add_all(
    builder: relax.BlockBuilder,
    inputs: Sequence[relax.Expr | np.ndarray],
    before: Quantization,
    after: Quantization,
) -> relax.Expr:
    """Return the sum of tensors of one quantization.

    Raises
    ------
    UnsupportedModelError
        the sum of so many tensors may leave int32.
    """
    # 19 fractional bits remain, because each term is doubled and halved again.
    if (len(inputs) + 1) * 255 << 19 >= 2**31:
        raise UnsupportedModelError(f"a sum of {len(inputs)} tensors; at most 15 are supported")
    factor = quantize_multiplier(2.0 * before.scale / (float(1 << 20) * after.scale))
    limits = after.limits()

    def function(*values: tirx.Expr) -> tirx.Expr:
        # The reference kernel starts its sum at the integer 0, not at the zero point.
        total = tirx.IntImm("int32", -before.zero_point)
        for value in values:
            total = total + centered(value, before.zero_point)
        scaled = apply_multiplier(total * tirx.IntImm("int32", 1 << 19), factor)
        return limits.shifted(scaled, after.zero_point)

    record = AddN((before,) * len(inputs), (after,))
    return elementwise(builder, record, function, inputs)


def multiply_elements(
    builder: relax.BlockBuilder,
    left: relax.Expr | np.ndarray,
    right: relax.Expr | np.ndarray,
    quantizations: Quantizations,
    limits: OutputLimits,
    rounding: Rounding = Rounding.TWICE,
) -> relax.Expr:
    """Return left * right.

    The products with a constant of zeros are 0 for all scales, because converters write such
    constants together with a tiny output scale.

    Raises
    ------
    UnsupportedModelError
        int16 with zero points other than 0.
    """
    require_no_zero_points(quantizations)
    first, second, output = quantizations
    if _stands_for_zeros(left, first) or _stands_for_zeros(right, second):
        factor = QuantizedMultiplier(0, 0)
    else:
        factor = factor_of((first.scale, second.scale), output.scale, rounding)

    def function(left: tirx.Expr, right: tirx.Expr) -> tirx.Expr:
        product = centered(left, first.zero_point) * centered(right, second.zero_point)
        scaled = apply_multiplier(product, factor, rounding)
        return limits.shifted(scaled, output.zero_point)

    record = Multiply((first, second), (output,), clamp=limits.ends, rounding=rounding)
    return elementwise(builder, record, function, [left, right])


def _stands_for_zeros(operand: relax.Expr | np.ndarray, quantization: Quantization) -> bool:
    if isinstance(operand, GenericConst):
        operand = operand.value.numpy()
    return isinstance(operand, np.ndarray) and bool((operand == quantization.zero_point).all())


def divide(
    builder: relax.BlockBuilder,
    left: relax.Expr | np.ndarray,
    right: relax.Expr | np.ndarray,
    quantizations: Quantizations,
    limits: OutputLimits,
) -> relax.Expr:
    """Return left / right of int8 or int16; a divisor 0 becomes the smallest step.

    Raises
    ------
    UnsupportedModelError
        int16 with zero points other than 0, or scales at which the reference kernels shift
        quotients by less than 0 bits.
    """
    require_no_zero_points(quantizations)
    first, second, output = quantizations
    ratio = first.scale / (second.scale * output.scale)
    if first.dtype == "int16":
        # TFLite's kernel, unlike those of tflite-micro, divides in single precision.
        scales = [np.float32(q.scale) for q in quantizations]
        ratio = float(scales[0] / (scales[1] * scales[2]))
    factor = quantize_multiplier(ratio)
    headroom = 31 - farthest(first).bit_length()
    if factor.shift > headroom:
        raise UnsupportedModelError(
            f"a quotient of 1 is {ratio} steps of the output; less than 2**{headroom} are supported"
        )

    def function(left: tirx.Expr, right: tirx.Expr) -> tirx.Expr:
        quotient = tirx.call_pure_extern(
            "int32",
            DIVIDE,
            centered(left, first.zero_point),
            centered(right, second.zero_point),
            tirx.IntImm("int32", factor.multiplier),
            tirx.IntImm("int32", factor.shift),
        )
        return limits.shifted(quotient, output.zero_point)

    record = _record(Divide, quantizations, limits)
    return elementwise(builder, record, function, [left, right])


def maximum(
    builder: relax.BlockBuilder,
    left: relax.Expr | np.ndarray,
    right: relax.Expr | np.ndarray,
    quantization: Quantization,
) -> relax.Expr:
    """Return the greater elements of two tensors; inputs and output have one quantization."""
    record = Maximum((quantization, quantization), (quantization,))
    return elementwise(builder, record, lambda x, y: tirx.max(x, y), [left, right])


def minimum(
    builder: relax.BlockBuilder,
    left: relax.Expr | np.ndarray,
    right: relax.Expr | np.ndarray,
    quantization: Quantization,
) -> relax.Expr:
    """Return the lesser elements of two tensors; inputs and output have one quantization."""
    record = Minimum((quantization, quantization), (quantization,))
    return elementwise(builder, record, lambda x, y: tirx.min(x, y), [left, right])


COMPARISONS: dict[str, Combination] = {
    "equal": tirx.EQ,
    "not_equal": tirx.NE,
    "greater": tirx.GT,
    "greater_equal": tirx.GE,
    "less": tirx.LT,
    "less_equal": tirx.LE,
}


def compare(
    builder: relax.BlockBuilder,
    name: str,
    left: relax.Expr | np.ndarray,
    right: relax.Expr | np.ndarray,
    first: Quantization,
    second: Quantization,
) -> relax.Expr:
    """Return the bool results of `name`, one of `COMPARISONS`.

    Scaled integers are compared as real numbers with 8 fractional bits, like in the reference
    kernels: smaller differences are ignored. Integers without scales are compared as they are
    stored. So are int16 for order, but not for equality.

    Raises
    ------
    UnsupportedModelError
        a scale that is used is 1 or more.
    """
    operator = COMPARISONS[name]
    record = KINDS[name]((first, second), (Quantization.unscaled("bool"),))
    is_ordering = name not in ("equal", "not_equal")
    if not first.scales or (first.dtype == "int16" and is_ordering):
        return elementwise(builder, record, operator, [left, right])
    factors = [quantize_multiplier(q.scale) for q in (first, second)]
    if any(factor.shift > 0 for factor in factors):
        raise UnsupportedModelError(
            f"{name} of {first.dtype} of scales {first.scale} and {second.scale}; less than 1 is "
            "supported"
        )

    def function(left: tirx.Expr, right: tirx.Expr) -> tirx.Expr:
        return operator(_scaled(left, first, 8, factors[0]), _scaled(right, second, 8, factors[1]))

    return elementwise(builder, record, function, [left, right])
