"""Factors and roundings against exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tvm import tirx
from tvm.sym import Analyzer

import usmp
from usmp.ops.quantized.rescaling.fixed_point import (
    QuantizedMultiplier,
    quantize_multiplier,
    round_shift_right,
    shift_right,
)

int32 = st.integers(-(2**31), 2**31 - 1)


def half_away(value: Fraction) -> int:
    """The nearest integer, ties away from zero."""
    magnitude = math.floor(abs(value) + Fraction(1, 2))
    return magnitude if value >= 0 else -magnitude


@given(int32, st.integers(0, 31))
def test_shift_rounds_ties_away_from_zero(value, exponent):
    assert round_shift_right(value, exponent) == half_away(Fraction(value, 2**exponent))


@given(int32, st.integers(2**30, 2**31 - 1), st.integers(-31, 0))
def test_factor_rounds_twice(value, multiplier, shift):
    high = math.floor(Fraction(value * multiplier, 2**31) + Fraction(1, 2))
    expected = half_away(Fraction(high, 2**-shift))
    assert QuantizedMultiplier(multiplier, shift).apply(value) == expected


@pytest.mark.slow
@given(st.integers(-(2**20), 2**20), st.integers(2**30, 2**31 - 1), st.integers(1, 10))
def test_factor_above_one_is_rounded_once(value, multiplier, shift):
    expected = math.floor(Fraction((value << shift) * multiplier, 2**31) + Fraction(1, 2))
    assert QuantizedMultiplier(multiplier, shift).apply(value) == expected


def test_factor_wraps_what_leaves_32_bits():
    assert QuantizedMultiplier(2**30, 1).apply(2**30) == -(2**30)


@pytest.mark.slow
@given(st.floats(2.0**-31, 2.0**29))
def test_multiplier_is_the_nearest_with_31_bits(real):
    factor = quantize_multiplier(real)
    assert 2**30 <= factor.multiplier < 2**31
    error = abs(Fraction(factor.multiplier) * Fraction(2) ** (factor.shift - 31) - Fraction(real))
    assert error <= Fraction(2) ** (factor.shift - 32)


@pytest.mark.parametrize(
    ("real", "expected"),
    [
        (0.0, (0, 0)),
        (0.5, (2**30, 0)),
        (1.0, (2**30, 1)),
        # The mantissa rounds up to 1.
        (1.0 - 2.0**-40, (2**30, 1)),
        (2.0**-32, (2**30, -31)),
        (2.0**-33, (0, 0)),
    ],
)
def test_multiplier_at_the_ends(real, expected):
    factor = quantize_multiplier(real)
    assert (factor.multiplier, factor.shift) == expected


@pytest.mark.parametrize("real", [-1.0, math.inf, math.nan, 2.0**30])
def test_impossible_ratios_are_refused(real):
    with pytest.raises(usmp.UnsupportedModelError, match="ratio of the quantization scales"):
        quantize_multiplier(real)


def test_what_tvm_concludes_of_a_shift_by_a_computed_amount():
    """31 less a number that may be anything: TVM takes 32 and 31 for the extremes of the amount."""
    value, zeros = (tirx.Var(name, "int32") for name in ("value", "zeros"))
    bound = Analyzer().const_int_bound(shift_right(value, tirx.IntImm("int32", 31) - zeros))
    assert (bound.min_value, bound.max_value) == (-(2**31), 2**31 - 1)
