"""The first difference of two arrays, in words."""

from __future__ import annotations

import numpy as np
import pytest

from usmp.runtime.compare import first_difference

INTEGERS = np.array([[1, 2], [3, 4]], np.int8)


def test_equal_integers():
    assert first_difference(INTEGERS, INTEGERS.copy()) is None


def test_one_step_is_a_difference():
    other = np.array([[1, 2], [4, 5]], np.int8)
    assert first_difference(INTEGERS, other) == "2 of 4 elements, first at [1, 0]: 3, not 4"


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (INTEGERS.astype(np.int16), "it is int8[2, 2], not int16[2, 2]"),
        (INTEGERS.reshape(4), "it is int8[2, 2], not int8[4]"),
    ],
)
def test_another_type_or_shape(other, words):
    assert first_difference(INTEGERS, other) == words


def test_floats_within_the_tolerance():
    values = np.array([1.0, 1000.0, np.nan], np.float32)
    assert first_difference(values, values * np.float32(1.00005)) is None
    assert first_difference(values, values * np.float32(1.001)) is not None
