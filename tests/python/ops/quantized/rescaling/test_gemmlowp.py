"""Fixed-point functions against real ones; their exact bits are compared with tflite-micro's in
test_curves.py."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from usmp.ops.quantized.rescaling import gemmlowp

ONE = 2.0**31


@given(st.integers(-(2**31), 0), st.sampled_from([0, 1, 2, 3, 4, 5]))
def test_exponential(raw, integer_bits):
    value = raw / 2 ** (31 - integer_bits)
    assert gemmlowp.exp_on_negative(raw, integer_bits) / ONE == pytest.approx(
        math.exp(value), abs=2e-6
    )


@given(st.integers(0, 2**31 - 1))
def test_reciprocal(raw):
    value = raw / ONE
    assert gemmlowp.one_over_one_plus(raw) / ONE == pytest.approx(1 / (1 + value), abs=1e-8)
    ratio = gemmlowp.one_minus_over_one_plus(raw) / ONE
    assert ratio == pytest.approx((1 - value) / (1 + value), abs=1e-8)


@given(st.integers(-(2**31) + 1, 2**31 - 1))
def test_logistic_and_tanh(raw):
    value = raw / 2**27
    assert gemmlowp.logistic(raw, 4) / ONE == pytest.approx(1 / (1 + math.exp(-value)), abs=2e-6)
    assert gemmlowp.tanh(raw, 4) / ONE == pytest.approx(math.tanh(value), abs=4e-6)


@pytest.mark.slow
@given(st.integers(2, 2**31 - 1))
def test_inverse_square_root(value):
    multiplier, shift = gemmlowp.inverse_square_root(value)
    assert multiplier * 2.0 ** (shift - 31) == pytest.approx(1 / math.sqrt(value), rel=1e-4)


def test_values_at_the_ends():
    assert gemmlowp.exp_on_negative(0, 5) == gemmlowp.ONE_Q0
    assert gemmlowp.one_over_one_plus(0) == gemmlowp.ONE_Q0
    assert gemmlowp.logistic(0, 4) == 2**30
    assert gemmlowp.tanh(0, 4) == 0
    assert gemmlowp.inverse_square_root(0) == gemmlowp.inverse_square_root(1) == (2**31 - 1, 0)
    assert gemmlowp.multiply(-(2**31), -(2**31)) == 2**31 - 1
