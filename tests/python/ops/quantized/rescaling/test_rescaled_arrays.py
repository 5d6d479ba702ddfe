"""Factors in NumPy give what the functions of the emitted C give."""

from __future__ import annotations

import numpy as np
import pytest

from usmp.ops.quantized import QuantizedMultiplier, Rounding
from usmp.ops.quantized.rescaling.rescaled_arrays import never_wraps, rescaled, rescaled_twice

VALUES = np.array([-(2**31), -12345678, -3, -2, -1, 0, 1, 2, 3, 98765, 2**31 - 1], np.int64)
FACTORS = [(1 << 30, 0), (1 << 30, 1), (1518500250, -3), (2**31 - 1, -31), (1 << 30, 4), (0, 0)]


def array(value: int) -> np.ndarray:
    return np.array([value], np.int64)


@pytest.mark.parametrize(("multiplier", "shift"), FACTORS)
def test_rounded_twice(multiplier, shift):
    factor = QuantizedMultiplier(multiplier, shift)
    expected = [factor.apply(int(value)) for value in VALUES]
    assert rescaled_twice(VALUES, array(multiplier), array(shift)).tolist() == expected
    given = rescaled(VALUES, array(multiplier), array(shift), Rounding.TWICE)
    assert given.tolist() == expected


def test_rounded_once():
    half = (array(1 << 30), array(0))
    values = np.array([-3, -2, -1, 0, 1, 2, 3], np.int64)
    # Halves go up, not away from zero.
    assert rescaled(values, *half, Rounding.ONCE).tolist() == [-1, -1, 0, 0, 1, 1, 2]
    assert rescaled(values, *half, Rounding.ONCE_16_BITS).tolist() == [-1, -1, 0, 0, 1, 1, 2]


def test_only_the_upper_half_of_the_multiplier_counts_for_64_bits():
    value = np.array([1 << 40], np.int64)
    shift = array(-20)
    almost = (1 << 30) + 0x7FFF
    once = rescaled(value, array(almost), shift, Rounding.ONCE_16_BITS)
    assert once.tolist() == [1 << 19]
    # The greatest multipliers would be rounded to one that has no place.
    greatest = rescaled(value, array(2**31 - 1), shift, Rounding.ONCE_16_BITS)
    assert greatest.tolist() == [0x7FFF << (40 - 15 - 20)]


@pytest.mark.parametrize(
    ("value", "shift", "rounding", "expected"),
    [
        (2**31 - 2**16 - 1, 0, Rounding.TWICE, True),
        (2**31 - 2**16, 0, Rounding.TWICE, False),
        (2**30, 1, Rounding.TWICE, False),
        (-(2**30), 1, Rounding.TWICE, False),
        (2**29, 1, Rounding.TWICE, True),
        (2**31 - 1, -5, Rounding.ONCE, True),
        (2**31 - 1, 2, Rounding.ONCE, False),
        (2**47, -20, Rounding.ONCE_16_BITS, True),
        (2**47, 0, Rounding.ONCE_16_BITS, False),
    ],
)
def test_what_may_wrap(value, shift, rounding, expected):
    assert never_wraps(array(value), array(1 << 30), array(shift), rounding).tolist() == [expected]
