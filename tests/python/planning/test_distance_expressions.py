"""Distances as expressions: at no size too small, and exact where a polynomial is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tvm import tirx

from usmp.analysis.symbolic.extents import value_of
from usmp.planning.distance_expressions import distance_expression

LARGEST = 12
SEQ = tirx.Var("seq", "int32")
N = np.arange(LARGEST, 0, -1, dtype=np.int64)
SIZES = {"seq": (N, SEQ)}
WHOLE = N * 64, SEQ * 64


def evaluated(expression) -> np.ndarray:
    return np.broadcast_to(value_of(expression, {"seq": N}), N.shape)


@pytest.mark.slow
@settings(deadline=None, max_examples=150, derandomize=True)
@given(st.lists(st.integers(0, 64), min_size=LARGEST, max_size=LARGEST))
def test_random_distances(parts):
    """Of no form, and no larger than the buffer, as distances are."""
    distance = N * np.array(parts)
    values, expression = distance_expression(distance, WHOLE, SIZES)
    assert (values >= distance).all()
    assert (values.sum() <= WHOLE[0].sum()) and values.sum() <= distance.max() * LARGEST
    np.testing.assert_array_equal(evaluated(expression), values)


@pytest.mark.slow
@settings(deadline=None, max_examples=100, derandomize=True)
@given(st.integers(-3, 3), st.integers(-40, 64), st.integers(-50, 50))
def test_polynomials_are_exact_where_they_are_distances(a, b, c):
    distance = np.maximum(a * N * N + b * N + c, 0)
    whole = distance + 1000, tirx.IntImm("int32", 0)
    values, expression = distance_expression(distance, whole, SIZES)
    assert (values >= distance).all()
    if (a * N * N + b * N + c >= 0).all():
        np.testing.assert_array_equal(values, distance)
    np.testing.assert_array_equal(evaluated(expression), values)


@pytest.mark.parametrize(
    ("distance", "least"),
    [
        (np.full(LARGEST, 16), np.full(LARGEST, 16)),
        (N * 64, N * 64),
        (np.minimum(N * 64, 256), np.minimum(N * 64, 256)),
        # One step out of line: the line of the largest sizes, and there what is missing.
        (np.where(N == 2, 40, N * 8), np.maximum(N * 8, 40)),
    ],
    ids=["constant", "whole", "whole up to a constant", "one is larger"],
)
def test_the_smallest_is_taken(distance, least):
    values, expression = distance_expression(distance.astype(np.int64), WHOLE, SIZES)
    np.testing.assert_array_equal(values, least)
    np.testing.assert_array_equal(evaluated(expression), least)


def test_what_leaves_32_bits_is_no_candidate():
    n = np.array([3, 2, 1], dtype=np.int64)
    distance = (n * n - 3 * n + 3) * 2**28
    whole = np.full(3, 2**40), SEQ * 64
    values, _ = distance_expression(distance, whole, {"seq": (n, SEQ)})
    assert values.tolist() == [3 * 2**28] * 3
