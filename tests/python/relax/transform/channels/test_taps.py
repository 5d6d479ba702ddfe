"""Which taps of a kernel are ever on the data, and ever beside it."""

from __future__ import annotations

from usmp.ops.quantized import Window
from usmp.relax.transform.channels.taps import is_within, taps_of


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


def test_strides_and_dilations():
    window = Window((5, 1), (2, 1), (2, 1), (3, 1), (1, 0), (2, 1))
    assert is_within(window, 0).tolist() == [[False, True], [True, True]]
    assert is_within(window, 1).tolist() == [[True]]
