"""LOGISTIC and TANH on int16: linear interpolation in a table of 256 values of the sigmoid.

The argument is scaled so that 3 * 2**12 stands for 1; tanh(x) = 2 * sigmoid(2 * x) - 1.
"""

from __future__ import annotations

import math

import numpy as np
from tvm import relax, te, tirx

from usmp.objects.errors import UnsupportedModelError
from usmp.relax.quantised.emit import call_operator, shape_of
from usmp.relax.quantised.parameters import Quantisation

# fmt: off
_ROUNDED_UP = frozenset((
    4, 8, 12, 14, 15, 16, 17, 19, 20, 21, 22, 25, 27, 28, 29, 30, 31, 33, 34, 35, 37, 39, 40, 41,
    43, 44, 45, 46, 49, 50, 54, 62, 63, 64, 66, 82, 86, 93, 100, 103, 112, 116, 135, 255,
))
# fmt: on
"""Entries that are one more than the nearest integer in the reference kernels' table."""


def sigmoid_table() -> np.ndarray:
    """sigmoid(i / 24) in 16 fractional bits, for i from 0 to 255."""
    nearest = [math.floor(65536 / (1 + math.exp(-i / 24)) + 0.5) for i in range(256)]
    return np.array([v + (i in _ROUNDED_UP) for i, v in enumerate(nearest)], np.uint16)


def interpolated_sigmoid(
    builder: relax.BlockBuilder, data: relax.Expr, before: Quantisation
) -> relax.Expr:
    """sigmoid(x), in 15 fractional bits."""
    multiplier, shift = _argument_scale(before, (0,))

    def compute(data: te.Tensor, table: te.Tensor) -> te.Tensor:
        def element(*indices: tirx.Var) -> tirx.Expr:
            scaled = _scaled(data[indices].astype("int32"), multiplier, shift)
            value = _interpolate(table, scaled, 9, 0x7FFF << 10)
            negative = _int32((1 << 25) + (1 << 9) - 1) - value
            result = tirx.Select(scaled >= _int32(0), value + _int32(1 << 9), negative)
            return (result >> _int32(10)).astype("int16")

        return te.compute(shape, element, "output")

    shape = shape_of(data)
    return call_operator(builder, "logistic", compute, [data, sigmoid_table()])


def interpolated_tanh(
    builder: relax.BlockBuilder, data: relax.Expr, before: Quantisation
) -> relax.Expr:
    """tanh(x), in 15 fractional bits."""
    multiplier, shift = _argument_scale(before, (0, 1))

    def compute(data: te.Tensor, table: te.Tensor) -> te.Tensor:
        def element(*indices: tirx.Var) -> tirx.Expr:
            scaled = _scaled(data[indices].astype("int32"), multiplier, shift)
            value = _interpolate(table, scaled, 8, 0xFFFF << 8)
            positive = value - _int32((1 << 23) - (1 << 7))
            negative = _int32((1 << 23) + (1 << 7) - 1) - value
            result = tirx.Select(scaled >= _int32(0), positive, negative)
            return (result >> _int32(8)).astype("int16")

        return te.compute(shape, element, "output")

    shape = shape_of(data)
    return call_operator(builder, "tanh", compute, [data, sigmoid_table()])


def _argument_scale(before: Quantisation, direct_shifts: tuple[int, ...]) -> tuple[int, int]:
    """What the integers are multiplied by, and then shifted to the right by.

    Parameters
    ----------
    direct_shifts: a scale of 2**(shift - 12) needs no rounding for these shifts.
    """
    if before.zero_point != 0:
        raise UnsupportedModelError(
            f"the int16 input has zero point {before.zero_point}; required: 0"
        )
    # Single precision, as in the reference kernels' CheckedLog2.
    logarithm = np.log(np.float32(before.scale)) * (np.float32(1) / np.log(np.float32(2)))
    nearest = round(float(logarithm))
    if abs(float(logarithm) - nearest) < 1e-3 and nearest + 12 in direct_shifts:
        return 3 << (nearest + 12), 0
    multiplier, shift = before.scale * 4096.0 * 3.0, 0
    if multiplier >= 1 << 15:
        raise UnsupportedModelError(
            f"the int16 input has scale {before.scale}; less than {(1 << 15) / 12288} is supported"
        )
    while multiplier <= 32767.0 / 2.0 and shift <= 30:
        shift += 1
        multiplier *= 2.0
    return int(multiplier), shift


def _scaled(value: tirx.Expr, multiplier: int, shift: int) -> tirx.Expr:
    product = value * _int32(multiplier)
    if shift == 0:
        return product
    return (product + _int32(1 << (shift - 1))) >> _int32(shift)


def _interpolate(table: te.Tensor, scaled: tirx.Expr, bits: int, greatest: int) -> tirx.Expr:
    """The table's value at the magnitude of `scaled`, which has `bits` bits between two entries."""
    magnitude = tirx.max(scaled, _int32(0) - scaled)
    index = magnitude >> _int32(bits)
    first = tirx.min(index, _int32(254))
    low, high = table[first].astype("int32"), table[first + _int32(1)].astype("int32")
    between = (low << _int32(bits)) + (magnitude & _int32((1 << bits) - 1)) * (high - low)
    return tirx.Select(index >= _int32(255), _int32(greatest), between)


def _int32(value: int) -> tirx.Expr:
    return tirx.IntImm("int32", value)
