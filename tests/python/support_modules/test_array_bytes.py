"""Arrays whose elements all have the same bytes."""

from __future__ import annotations

import numpy as np
import pytest

from usmp.support.array_bytes import are_alike


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.array([[0.5, 0.5], [0.5, 0.5]], "float32"), True),
        (np.array([0.0, -0.0], "float32"), False),
        (np.array([np.nan, np.nan], "float32"), True),
        (np.array([258, 258], "int16"), True),
        (np.array([258, 259], "int16"), False),
        (np.array([1, 1, 1, 2], "int8"), False),
        (np.array([1, 2, 1, 2], "int8")[::2], True),
        (np.array(3.0), True),
    ],
)
def test_elements_are_alike_if_their_bytes_are(values, expected):
    assert are_alike(values) is expected
