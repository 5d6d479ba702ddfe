"""LOGISTIC and TANH on int16: linear interpolation in a table of 256 values of the sigmoid.

The argument is scaled so that 3 * 2**12 represents 1; tanh(x) = 2 * sigmoid(2 * x) - 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from tvm import relax, te, tirx

from usmp.ops.emit import call_operator, shape_of
from usmp.ops.quantized.rescaling.fixed_point import int32
from usmp.ops.quantized.rescaling.parameters import Quantization, require_symmetric_input
from usmp.ops.records import QuantizedOp
from usmp.ops.records.elementwise import Logistic, Tanh
from usmp.support.errors import UnsupportedModelError
from usmp.tir.intrinsics import INTERPOLATED_LOGISTIC, INTERPOLATED_TANH, SIGMOID_INDEX

ARGUMENT_FACTOR = 3
"""Multiplier of arguments of scale 2**-12."""
_STEPS = 24
"""Entries of the table for each unit of the argument."""


def sigmoid_table() -> np.ndarray:
    """Return sigmoid(i / 24) with 16 fractional bits, for i from 0 to 255.

    Chords of a curve lie on one side of it. Each entry is moved to the other side by half of the
    error in the middle of a chord, so that the largest error is halved.
    """

    def entry(index: int) -> int:
        p = 1 / (1 + math.exp(-index / _STEPS))
        curvature = p * (1 - p) * (1 - 2 * p)
        return math.floor(65536 * (p - curvature / (16 * _STEPS**2)) + 0.5)

    return np.array([*(entry(index) for index in range(255)), 65535], np.uint16)


def interpolated_sigmoid(
    builder: relax.BlockBuilder, data: relax.Expr, before: Quantization, after: Quantization
) -> relax.Expr:
    """Return sigmoid(x) with 15 fractional bits."""
    record = Logistic((before,), (after,))
    return _by_table(builder, record, data, _argument_scale(before, (0,)), logistic_of)


def interpolated_tanh(
    builder: relax.BlockBuilder, data: relax.Expr, before: Quantization, after: Quantization
) -> relax.Expr:
    """Return tanh(x) with 15 fractional bits."""
    record = Tanh((before,), (after,))
    return _by_table(builder, record, data, _argument_scale(before, (0, 1)), tanh_of)


def _by_table(
    builder: relax.BlockBuilder,
    record: QuantizedOp,
    data: relax.Expr,
    scale: tuple[int, int],
    function: Callable[[tirx.Expr, te.Tensor], tirx.Expr],
) -> relax.Expr:
    """Apply `function` with `sigmoid_table` to each element, times the multiplier in `scale`."""
    shape = shape_of(data)

    def compute(data: te.Tensor, table: te.Tensor) -> te.Tensor:
        def element(*indices: tirx.Var) -> tirx.Expr:
            argument = scaled_argument(data[indices].astype("int32"), *scale)
            return function(argument, table).astype("int16")

        return te.compute(shape, element, "output")

    return call_operator(builder, record.kind, compute, [data, sigmoid_table()], record=record)


def _argument_scale(before: Quantization, direct_shifts: tuple[int, ...]) -> tuple[int, int]:
    """Return the multiplier of arguments, and the right shift after it.

    Parameters
    ----------
    direct_shifts
        shifts for which a scale of 2**(shift - 12) needs no rounding.
    """
    require_symmetric_input(before)
    power = power_of_two(before.scale)
    if power is not None and power + 12 in direct_shifts:
        return ARGUMENT_FACTOR << (power + 12), 0
    multiplier, shift = before.scale * 4096.0 * 3.0, 0
    if multiplier >= 1 << 15:
        raise UnsupportedModelError(
            f"the int16 input has scale {before.scale}; less than {(1 << 15) / 12288} is supported"
        )
    while multiplier <= 32767.0 / 2.0 and shift <= 30:
        shift += 1
        multiplier *= 2.0
    return int(multiplier), shift


def power_of_two(scale: float) -> int | None:
    """Return the exponent of a scale that is a power of two, else None.

    Computed in single precision, with the tolerance of the reference kernels' CheckedLog2.
    """
    logarithm = np.log(np.float32(scale)) * (np.float32(1) / np.log(np.float32(2)))
    nearest = round(float(logarithm))
    return nearest if abs(float(logarithm) - nearest) < 1e-3 else None


def scaled_argument(value: tirx.Expr, multiplier: int, shift: int) -> tirx.Expr:
    """Multiply `value` (int32), shift the product to the right, and round."""
    product = value * int32(multiplier)
    if shift == 0:
        return product
    return (product + int32(1 << (shift - 1))) >> int32(shift)


def logistic_of(argument: tirx.Expr, table: te.Tensor | tirx.Buffer) -> tirx.Expr:
    """Return sigmoid of a scaled int32 argument by `sigmoid_table`, 15 fractional bits: int32."""
    return _interpolated(INTERPOLATED_LOGISTIC, 9, argument, table)


def tanh_of(argument: tirx.Expr, table: te.Tensor | tirx.Buffer) -> tirx.Expr:
    """Return tanh of a scaled int32 argument by `sigmoid_table`, 15 fractional bits: int32."""
    return _interpolated(INTERPOLATED_TANH, 8, argument, table)


def _interpolated(
    function: str, bits: int, argument: tirx.Expr, table: te.Tensor | tirx.Buffer
) -> tirx.Expr:
    # The C function adds 1 to the index, because TVM widens a sum that may overflow to 64 bits.
    low, high = (
        table[tirx.call_pure_extern("int32", SIGMOID_INDEX, argument, int32(bits), int32(next_))]
        for next_ in (0, 1)
    )
    return tirx.call_pure_extern("int32", function, argument, low, high)
