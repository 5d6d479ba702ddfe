"""What becomes of an accumulator: bias, factor, zero point, clamp."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import tirx
from tvm.sym import Analyzer

from usmp.ops.quantized import OutputLimits, Quantization, Rescale, quantize_multiplier
from usmp.ops.quantized.rescaling.fixed_point import Rounding, centered
from usmp.ops.quantized.rescaling.weighted_constants import narrowed, weighted_constants
from usmp.support.errors import UnsupportedModelError

DATA = Quantization("int8", (0.02,), (-5,))
OUTPUT = Quantization("int8", (1.0,), (3,))
LIMITS = OutputLimits("int8", -128, 127)


def rescale_of(*factors, rounding=Rounding.TWICE):
    return Rescale(tuple(map(quantize_multiplier, factors)), OUTPUT, LIMITS, rounding)


def test_integers_are_counted_from_their_zero_point():
    value = tirx.IntImm("int8", -100)
    for zero_point, expected in ((100, -200), (0, -100)):
        result = Analyzer().simplify(centered(value, zero_point))
        assert (result.value, str(result.ty.dtype)) == (expected, "int32")


@pytest.mark.parametrize(
    ("bias", "dtype"),
    [
        ([32767, -32768], "int16"),
        ([32768, 0], "int32"),
        ([2**31 - 1, -(2**31)], "int32"),
        ([2**31, 0], "int64"),
        ([0, -32769], "int32"),
    ],
)
def test_biases_are_as_narrow_as_they_can_be(bias, dtype):
    result = narrowed(np.array(bias, np.int64))
    assert (result.tolist(), str(result.dtype)) == (bias, dtype)


WEIGHT = np.array([[1, 2, 3], [100, -100, 4]], np.int8)
BIAS = np.array([7, -(2**20)], np.int32)


def test_all_operators_take_the_same_constants():
    kept, constants = weighted_constants(WEIGHT, 0, None, DATA, rescale_of(0.5))
    np.testing.assert_array_equal(kept, WEIGHT)
    assert [constant.tolist() for constant in constants] == [
        [0, 0],
        [1 << 30, 1 << 30],
        [0, 0],
    ]
    _, constants = weighted_constants(WEIGHT, 0, BIAS, DATA, rescale_of(0.5, 0.125))
    assert [constant.tolist() for constant in constants] == [
        BIAS.tolist(),
        [1 << 30, 1 << 30],
        [0, -2],
    ]
    assert all(constant.dtype == np.int32 for constant in constants)


def test_biases_are_as_wide_as_accumulators():
    rescale = rescale_of(0.5, rounding=Rounding.ONCE_16_BITS)
    _, constants = weighted_constants(
        WEIGHT, 0, BIAS, Quantization("int16", (0.02,), (0,)), rescale
    )
    bias, multiplier, shift = constants
    assert (bias.tolist(), bias.dtype) == (BIAS.tolist(), np.int64)
    assert multiplier.dtype == shift.dtype == np.int32


def test_channels_with_a_factor_of_0_have_neither_weights_nor_bias():
    """Whatever their bias is; that of others may not overflow."""
    bias = np.array([7, 2**31 - 1], np.int32)
    kept, constants = weighted_constants(WEIGHT, 0, bias, DATA, rescale_of(0.5, 0.0))
    assert kept.tolist() == [[1, 2, 3], [0, 0, 0]]
    assert constants[0].tolist() == [7, 0]
    assert kept.dtype == np.int8
    with pytest.raises(UnsupportedModelError):
        weighted_constants(WEIGHT, 0, bias, DATA, rescale_of(0.5, 0.5))


def test_zero_points_of_weights_are_put_back():
    stored = np.array([[110, 12, 9], [20, 5, 1]], np.uint8)
    kept, _ = weighted_constants(stored, 10, None, DATA, rescale_of(0.5, 0.0))
    assert (kept.tolist(), kept.dtype) == ([[110, 12, 9], [10, 10, 10]], np.uint8)
    kept, _ = weighted_constants(stored, 0, None, DATA, rescale_of(0.5, 0.0))
    assert kept.tolist() == [[110, 12, 9], [0, 0, 0]]
