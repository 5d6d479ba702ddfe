"""LOGISTIC and TANH on int16: linear interpolation in a table of 256 values of the sigmoid.

The argument is scaled so that 3 * 2**12 stands for 1; tanh(x) = 2 * sigmoid(2 * x) - 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from tvm import relax, te, tirx

from usmp.ops.emit import call_operator, shape_of
from usmp.ops.quantized.fixed_point import int32
from usmp.ops.quantized.parameters import Quantization, require_symmetric_input
from usmp.ops.records import QuantizedOp
from usmp.ops.records.elementwise import Logistic, Tanh
from usmp.support.errors import UnsupportedModelError
from usmp.tir.intrinsics import INTERPOLATED_LOGISTIC, INTERPOLATED_TANH, SIGMOID_INDEX

ARGUMENT_FACTOR = 3
"""What integers of scale 2**-12 are multiplied by."""
_STEPS = 24
"""Entries of the table for an argument of 1."""


def sigmoid_table() -> np.ndarray:
    """sigmoid(i / 24) in 16 fractional bits, for i from 0 to 255.

    Lines between points of a curve lie on one side of it. Each entry is moved to the other side, by
    half of what the middle of a line would miss, so that the largest error is halved.
    """

    def entry(index: int) -> int:
        p = 1 / (1 + math.exp(-index / _STEPS))
        curvature = p * (1 - p) * (1 - 2 * p)
        return math.floor(65536 * (p - curvature / (16 * _STEPS**2)) + 0.5)

    return np.array([*(entry(index) for index in range(255)), 65535], np.uint16)


def interpolated_sigmoid(
    builder: relax.BlockBuilder, data: relax.Expr, before: Quantization, after: Quantization
) -> relax.Expr:
    """sigmoid(x), in 15 fractional bits."""
    record = Logistic((before,), (after,))
    return _by_table(builder, record, data, _argument_scale(before, (0,)), logistic_of)


def interpolated_tanh(
    builder: relax.BlockBuilder, data: relax.Expr, before: Quantization, after: Quantization
) -> relax.Expr:
    """tanh(x), in 15 fractional bits."""
    record = Tanh((before,), (after,))
    return _by_table(builder, record, data, _argument_scale(before, (0, 1)), tanh_of)


def _by_table(
    builder: relax.BlockBuilder,
    record: QuantizedOp,
    data: relax.Expr,
    scale: tuple[int, int],
    function: Callable[[tirx.Expr, te.Tensor], tirx.Expr],
) -> relax.Expr:
    """`function` of each element, scaled by a multiplier and a shift, and of `sigmoid_table`."""
    shape = shape_of(data)

    def compute(data: te.Tensor, table: te.Tensor) -> te.Tensor:
        def element(*indices: tirx.Var) -> tirx.Expr:
            argument = scaled_argument(data[indices].astype("int32"), *scale)
            return function(argument, table).astype("int16")

        return te.compute(shape, element, "output")

    return call_operator(builder, record.kind, compute, [data, sigmoid_table()], record=record)


def _argument_scale(before: Quantization, direct_shifts: tuple[int, ...]) -> tuple[int, int]:
    """What the integers are multiplied by, and then shifted to the right by.

    Parameters
    ----------
    direct_shifts
        a scale of 2**(shift - 12) needs no rounding for these shifts.
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
    """Its exponent if the scale is a power of two, else None.

    In single precision and with the tolerance of the reference kernels' CheckedLog2.
    """
    logarithm = np.log(np.float32(scale)) * (np.float32(1) / np.log(np.float32(2)))
    nearest = round(float(logarithm))
    return nearest if abs(float(logarithm) - nearest) < 1e-3 else None


def scaled_argument(value: tirx.Expr, multiplier: int, shift: int) -> tirx.Expr:
    """`value` (int32) times the multiplier, shifted to the right and rounded."""
    product = value * int32(multiplier)
    if shift == 0:
        return product
    return (product + int32(1 << (shift - 1))) >> int32(shift)


def logistic_of(argument: tirx.Expr, table: te.Tensor | tirx.Buffer) -> tirx.Expr:
    """The sigmoid of a scaled argument (int32) by `sigmoid_table`, in 15 fractional bits: int32."""
    return _interpolated(INTERPOLATED_LOGISTIC, 9, argument, table)


def tanh_of(argument: tirx.Expr, table: te.Tensor | tirx.Buffer) -> tirx.Expr:
    """tanh of a scaled argument (int32) by `sigmoid_table`, in 15 fractional bits: int32."""
    return _interpolated(INTERPOLATED_TANH, 8, argument, table)


def _interpolated(
    function: str, bits: int, argument: tirx.Expr, table: te.Tensor | tirx.Buffer
) -> tirx.Expr:
    # The function adds 1 itself: for an index that might overflow, TVM changes to 64 bits.
    low, high = (
        table[tirx.call_pure_extern("int32", SIGMOID_INDEX, argument, int32(bits), int32(next_))]
        for next_ in (0, 1)
    )
    return tirx.call_pure_extern("int32", function, argument, low, high)
