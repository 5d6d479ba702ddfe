"""The first elements in an order, and where they are."""

from __future__ import annotations

import numpy as np
import pytest

from support.relax_vm import computed
from usmp.ops.real.top_k import top_elements

NAN = np.nan


@pytest.mark.parametrize(
    ("axis", "count", "largest"),
    [
        (1, 2, True),
        (1, 3, False),
        (0, 1, True),
        (2, 2, True),
    ],
)
def test_elements_are_ordered_along_an_axis(axis, count, largest):
    """Of equal ones the first comes first."""
    data = np.array([[[1, -5], [6, -5], [6, -7]], [[3, 2], [-1, 0], [3, 8]]], np.int16)
    expected = np.argsort(-data if largest else data, axis=axis, kind="stable")
    expected = np.take(expected, range(count), axis=axis)
    elements, found = computed(
        lambda builder, data: top_elements(builder, data, axis, count, largest), data
    )
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(elements, np.take_along_axis(data, expected, axis))


@pytest.mark.parametrize(
    ("largest", "nan", "places"),
    [
        (True, "first", [1, 3, 2, 0]),
        (True, "last", [2, 0, 4, 1]),
        (False, "first", [1, 3, 4, 0]),
        (False, "last", [4, 0, 2, 1]),
    ],
)
def test_what_is_not_a_number_comes_first_or_last(largest, nan, places):
    data = np.array([2, NAN, 7, NAN, -1], np.float32)
    elements, found = computed(
        lambda builder, data: top_elements(builder, data, 0, 4, largest, nan, "int32"), data
    )
    assert found.dtype == np.int32
    assert found.tolist() == places
    np.testing.assert_array_equal(elements, data[places])


def test_integers_have_no_nan():
    data = np.array([2, 9, 9, -1], np.int8)
    _, found = computed(lambda builder, data: top_elements(builder, data, 0, 3, True, "last"), data)
    assert found.tolist() == [1, 2, 0]


def test_places_are_inside_where_nothing_is_in_order():
    data = np.array([NAN, NAN], np.float32)
    elements, found = computed(lambda builder, data: top_elements(builder, data, 0, 2, True), data)
    assert np.isnan(elements).all()
    assert set(found.tolist()) <= {0, 1}
