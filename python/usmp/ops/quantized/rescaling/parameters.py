"""Checks of quantizations, and the output limits of fused activations."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from usmp.ops.quantization import OutputLimits, Quantization, integer_limits
from usmp.support.errors import UnsupportedModelError

__all__ = [
    "OutputLimits",
    "Quantization",
    "activation_limits",
    "farthest",
    "integer_limits",
    "is_about",
    "quantize_value",
    "require_no_zero_points",
    "require_output",
    "require_symmetric_input",
    "round_half_away",
]

_ACTIVATION_RANGES: dict[str, tuple[float | None, float | None]] = {
    "NONE": (None, None),
    "RELU": (0.0, None),
    "RELU6": (0.0, 6.0),
    "RELU_N1_TO_1": (-1.0, 1.0),
}
"""The real range of the activations that may be fused into an operator."""


def activation_limits(activation: str, output: Quantization) -> OutputLimits:
    """Return the limits of a fused activation (TFLite's CalculateActivationRangeQuantized).

    Raises
    ------
    UnsupportedModelError
        the activation cannot be fused, or the scale is so small that a limit exceeds 32 bits.
    """
    if activation not in _ACTIVATION_RANGES:
        raise UnsupportedModelError(
            f"fused activation {activation} is not supported; "
            f"supported: {', '.join(_ACTIVATION_RANGES)}"
        )
    least, greatest = _ACTIVATION_RANGES[activation]
    minimum, maximum = integer_limits(output.dtype)
    if least is not None:
        minimum = max(minimum, quantize_value(least, output))
    if greatest is not None:
        maximum = min(maximum, quantize_value(greatest, output))
    return OutputLimits(output.dtype, minimum, maximum)


def quantize_value(real: float, quantization: Quantization) -> int:
    """Return the integer nearest to `real`, ties away from zero, not clamped; in float32."""
    with np.errstate(over="ignore"):
        ratio = float(np.float32(real) / np.float32(quantization.scale))
    if not math.isfinite(ratio) or abs(ratio) >= 2**31:
        raise UnsupportedModelError(
            f"{real} has no integer at scale {quantization.scale}: the scale is too small"
        )
    return quantization.zero_point + round_half_away(ratio)


def round_half_away(value: float) -> int:
    """Return the nearest integer, ties away from zero (C's round)."""
    magnitude = math.floor(abs(value))
    if abs(value) - magnitude >= 0.5:
        magnitude += 1
    return magnitude if value >= 0 else -magnitude


def farthest(quantization: Quantization) -> int:
    """Return the greatest distance of an integer from the zero point."""
    least, greatest = integer_limits(quantization.dtype)
    return max(greatest - quantization.zero_point, quantization.zero_point - least)


def is_about(quantization: Quantization, scale: float, zero_point: int) -> bool:
    """Return whether a quantization has this zero point, and this scale within a thousandth."""
    return abs(quantization.scale - scale) <= 1e-3 * scale and quantization.zero_point == zero_point


def require_output(after: Quantization, scale: float, zero_point: int) -> None:
    """Check that the output has the only quantization supported by its operator.

    Raises
    ------
    UnsupportedModelError
        the quantization differs.
    """
    if not is_about(after, scale, zero_point):
        raise UnsupportedModelError(
            f"the {after.dtype} output has scale {after.scale} and zero point "
            f"{after.zero_point}; required: {scale} and {zero_point}"
        )


def require_no_zero_points(quantizations: Sequence[Quantization]) -> None:
    """Check that all zero points are 0 if the first type is int16.

    Raises
    ------
    UnsupportedModelError
        int16 with zero points other than 0.
    """
    zero_points = [q.zero_point for q in quantizations]
    if quantizations[0].dtype == "int16" and any(zero_points):
        raise UnsupportedModelError(f"with int16, zero points are {zero_points}; required: 0")


def require_symmetric_input(before: Quantization) -> None:
    """Check that the zero point is 0.

    Raises
    ------
    UnsupportedModelError
        it is not 0.
    """
    if before.zero_point != 0:
        raise UnsupportedModelError(
            f"the {before.dtype} input has zero point {before.zero_point}; required: 0"
        )
