"""What becomes of an accumulator: bias, factor, zero point, clamp."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import tirx
from tvm.sym import Analyzer

from usmp.ops.quantized import OutputLimits, Quantization, Rescale, quantize_multiplier
from usmp.ops.quantized.epilogue import centered, centered_epilogue, make_epilogue, narrowed
from usmp.ops.quantized.fixed_point import Rounding
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


def test_one_factor_needs_no_constants():
    kept, epilogue = make_epilogue(WEIGHT, None, DATA, rescale_of(0.5))
    np.testing.assert_array_equal(kept, WEIGHT)
    assert (epilogue.constants, epilogue.packed, epilogue.has_bias) == ((), None, False)


def test_the_bias_is_the_first_constant():
    kept, epilogue = make_epilogue(WEIGHT, BIAS, DATA, rescale_of(0.5))
    np.testing.assert_array_equal(kept, WEIGHT)
    assert epilogue.has_bias
    (bias,) = epilogue.constants
    assert (bias.tolist(), bias.dtype) == (BIAS.tolist(), np.int32)
    zeros = np.zeros(2, np.int32)
    assert make_epilogue(WEIGHT, zeros, DATA, rescale_of(0.5))[1].constants == ()


def test_factors_of_channels_are_packed_where_they_are_rounded_twice():
    _, packed = make_epilogue(WEIGHT, BIAS, DATA, rescale_of(0.001, 0.002))
    assert packed.packed is not None
    assert not packed.has_bias
    assert packed.constants == packed.packed.records
    rounding = next(each for each in Rounding if each is not Rounding.TWICE)
    _, plain = make_epilogue(WEIGHT, BIAS, DATA, rescale_of(0.001, 0.002, rounding=rounding))
    assert (plain.packed, plain.has_bias, len(plain.constants)) == (None, True, 3)


def test_weights_that_make_no_difference_are_zero():
    """Of a channel whose output is at a limit for all inputs."""
    bias = np.array([7, 2**28], np.int32)
    kept, epilogue = make_epilogue(WEIGHT, bias, DATA, rescale_of(0.001, 0.002))
    assert epilogue.packed.is_constant.tolist() == [False, True]
    assert kept.tolist() == [[1, 2, 3], [0, 0, 0]]
    assert kept.dtype == np.int8


def test_channels_with_a_factor_of_0_have_neither_weights_nor_bias():
    """Whatever their bias is; that of others may not overflow."""
    bias = np.array([7, 2**31 - 1], np.int32)
    rescale = rescale_of(0.5, 0.0, rounding=next(r for r in Rounding if r is not Rounding.TWICE))
    kept, epilogue = make_epilogue(WEIGHT, bias, DATA, rescale)
    assert kept.tolist() == [[1, 2, 3], [0, 0, 0]]
    assert epilogue.constants[0].tolist() == [7, 0]
    assert kept.dtype == np.int8
    kept, epilogue = make_epilogue(WEIGHT, None, DATA, rescale)
    assert (kept[1].tolist(), epilogue.has_bias) == ([0, 0, 0], False)
    with pytest.raises(UnsupportedModelError):
        make_epilogue(WEIGHT, bias, DATA, rescale_of(0.5, 0.5))


def test_zero_points_of_weights_are_put_back():
    stored = np.array([[110, 12, 9], [20, 5, 1]], np.uint8)
    bias = np.array([0, 2**28], np.int32)
    kept, epilogue = centered_epilogue(stored, 10, bias, DATA, rescale_of(0.001, 0.002))
    assert epilogue.packed.is_constant.tolist() == [False, True]
    assert kept.tolist() == [[110, 12, 9], [10, 10, 10]]
    assert kept.dtype == np.uint8
    kept, _ = centered_epilogue(stored, 0, bias, DATA, rescale_of(0.001, 0.002))
    assert kept.tolist() == [[110, 12, 9], [0, 0, 0]]
