"""Which taps of a kernel are ever on the data, and ever beside it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from usmp.ops.quantized import Window
from usmp.relax.transform.channels.taps import all_reach, taps_of


def test_padding_on_both_sides():
    taps = taps_of(Window((4, 4), (3, 1), (1, 1), (1, 1), (1, 0), (4, 4)))
    assert taps.inside.tolist() == [[True], [True], [True]]
    assert taps.outside.tolist() == [[True], [False], [True]]


def test_a_row_that_is_beside_is_so_for_all_columns():
    taps = taps_of(Window((2, 4), (3, 2), (1, 1), (1, 1), (1, 0), (2, 3)))
    assert taps.outside.tolist() == [[True, True], [False, False], [True, True]]


def test_taps_that_only_stand_on_padding():
    taps = taps_of(Window((1, 1), (3, 3), (1, 1), (1, 1), (1, 1), (1, 1)))
    assert taps.inside.astype(int).tolist() == [[0, 0, 0], [0, 1, 0], [0, 0, 0]]
    assert taps.outside.astype(int).tolist() == [[1, 1, 1], [1, 0, 1], [1, 1, 1]]


@pytest.mark.slow
@given(
    st.integers(1, 6),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(-3, 6),
    st.integers(1, 5),
)
def test_taps_along_a_side(extent, kernel, stride, dilation, padding, output):
    window = Window((extent, 1), (kernel, 1), (stride, 1), (dilation, 1), (padding, 0), (output, 1))
    at = np.arange(output)[:, None] * stride - padding + np.arange(kernel) * dilation
    within = (at >= 0) & (at < extent)
    taps = taps_of(window)
    assert taps.inside[:, 0].tolist() == within.any(axis=0).tolist()
    assert taps.outside[:, 0].tolist() == (~within).any(axis=0).tolist()
    assert all_reach(window, 0) == within.any(axis=1).all()


@pytest.mark.slow
def test_a_large_window_takes_little_memory():
    window = Window((1 << 22, 1), (1 << 20, 1), (1, 1), (1, 1), (0, 0), (3 << 20, 1))
    assert taps_of(window).inside.all() and all_reach(window, 0)
