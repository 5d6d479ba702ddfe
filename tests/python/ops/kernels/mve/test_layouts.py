"""How the taps of a convolution follow each other, and how many pixels are computed at a time."""

from __future__ import annotations

import pytest

from usmp.ops.kernels.mve.layouts import (
    Layout,
    copy_instructions,
    is_inner,
    layout_of,
    layout_of_planes,
)
from usmp.ops.kernels.mve.products import Rows
from usmp.ops.window import Window

PADDED = Window((4, 5), (3, 3), (1, 1), (1, 1), (1, 1), (4, 5))
INNER = Window((6, 7), (3, 3), (1, 1), (1, 1), (0, 0), (4, 5))
DILATED = Window((4, 5), (3, 3), (1, 1), (2, 2), (2, 2), (4, 5))
POINT = Window((4, 5), (1, 1), (1, 1), (1, 1), (0, 0), (4, 5))
STRIDED = Window((4, 5), (1, 1), (2, 2), (1, 1), (0, 0), (2, 3))
CUT = Window((4, 5), (1, 1), (1, 1), (1, 1), (0, 0), (4, 4))
SHIFTED = Window((4, 5), (1, 1), (1, 1), (1, 1), (1, 0), (5, 5))
BELOW = Window((4, 5), (2, 1), (1, 1), (1, 1), (0, 0), (4, 5))


@pytest.mark.parametrize(
    ("window", "one_line", "inner"),
    [
        (POINT, True, True),
        (STRIDED, False, True),
        (CUT, False, True),
        (SHIFTED, False, False),
        (INNER, False, True),
        (PADDED, False, False),
        (BELOW, False, False),
    ],
)
def test_windows_in_one_line_and_inside_of_the_data(window, one_line, inner):
    assert (window.is_pointwise, is_inner(window)) == (one_line, inner)


def test_windows_are_copied_by_rows_or_by_taps():
    """Of 3 rows of 24 channels, or of 3 taps of 8 each where columns are apart."""
    assert copy_instructions(PADDED, 8) == 70 + 3 * (15 + 7 + 6)
    assert copy_instructions(DILATED, 8) == 70 + 3 * (15 + 3 * (7 + 3))


@pytest.mark.parametrize(
    ("window", "channels", "outputs", "kept", "layout"),
    [
        (POINT, 8, 8, 0, Layout(Rows(1, 8), 8, 0)),
        (STRIDED, 8, 8, 0, Layout(Rows(1, 8), 8, 0)),
        (POINT, 241, 8, 0, None),
        # Rows of the data, where they are.
        (PADDED, 8, 8, 0, Layout(Rows(3, 24), 40, 0)),
        (INNER, 8, 8, 0, Layout(Rows(3, 24), 56, 0)),
        (INNER, 2, 8, 0, Layout(Rows(3, 6), 14, 0)),
        # Few channels of the data and many of the output: one row of a copy has all taps.
        (PADDED, 3, 100, 0, Layout(Rows(1, 27), 27, 2)),
        # More columns than functions reach, and columns that are apart.
        (INNER, 100, 8, 0, Layout(Rows(4, 225), 225, 2)),
        (DILATED, 8, 8, 0, Layout(Rows(1, 72), 72, 2)),
        # Not even one window fits the stack.
        (DILATED, 200, 8, 0, Layout(Rows(9, 200), 200, 2, True)),
        (PADDED, 114, 8, 0, Layout(Rows(9, 114), 114, 2, True)),
        (DILATED, 100, 8, 124, Layout(Rows(4, 225), 225, 2)),
        (DILATED, 100, 8, 125, Layout(Rows(9, 100), 100, 2, True)),
        # Few outputs, of four pixels at once.
        (POINT, 8, 1, 0, Layout(Rows(1, 8), 40, 0, in_quads=True)),
        (INNER, 30, 2, 0, Layout(Rows(3, 90), 210, 0, in_quads=True)),
        (INNER, 30, 4, 0, Layout(Rows(3, 90), 210, 0)),
        (POINT, 241, 7, 0, Layout(Rows(1, 241), 5 * 241, 0, in_quads=True)),
        (POINT, 241, 8, 0, None),
        # At the border pixels would lie over what the next one reads.
        (PADDED, 1, 2, 0, Layout(Rows(3, 3), 5, 0)),
        (PADDED, 8, 2, 8, Layout(Rows(3, 24), 40, 0)),
    ],
)
def test_the_layout_takes_the_least_instructions(window, channels, outputs, kept, layout):
    assert layout_of(window, channels, outputs, kept) == layout


@pytest.mark.parametrize(
    ("kernel", "copied_from"),
    [
        ((3, 3), {2: 9, 3: 9, 4: 21, 5: 21, 6: 9, 8: 13, 10: 25}),
        ((2, 2), {1: 9, 4: 9, 5: 25, 6: 25, 8: 25, 10: 13}),
        ((5, 5), {2: 13, 3: 17, 4: 9, 5: 9, 6: 25, 8: 13, 10: 9}),
        ((7, 3), {3: 9, 4: 13, 5: 17, 8: 9, 10: 21}),
        ((4, 1), {5: 9, 10: 13}),
    ],
)
def test_copies_of_windows_pay_for_many_channels_of_the_output(kernel, copied_from):
    """By channels of the data: the number of outputs from which on windows are copied."""
    data = kernel[0] + 3, kernel[1] + 4
    window = Window(data, kernel, (1, 1), (1, 1), (0, 0), (4, 5))
    for channels, outputs in copied_from.items():
        assert layout_of(window, channels, outputs - 1, 0).copies == 0
        assert layout_of(window, channels, outputs, 0).copies == 2


ROW = Rows(1, 16)


@pytest.mark.parametrize(
    ("layout", "window", "instructions"),
    [
        # Two pairs of four channels take 70 + 2 * 58; a last pixel takes 51.
        (Layout(ROW, 16, 0), POINT, 70 + 10 * 58),
        (Layout(ROW, 16, 0), STRIDED, 2 * (70 + 58 + 51)),
        (Layout(ROW, 16, 2), STRIDED, 2 * (3 * (70 + 15 + 10) + 70 + 58 + 70 + 51)),
        (Layout(ROW, 16, 0, in_quads=True), POINT, 70 + 5 * (32 + 4 * 43)),
        (Layout(ROW, 16, 0), INNER, 4 * (70 + 2 * 58 + 51)),
        # Of 20 pixels, 6 are inside; others are copied, and padded.
        (
            Layout(ROW, 16, 0),
            PADDED,
            2 * (70 + 58 + 51) + 14 * (70 + 3 * (15 + 7 + 9) + 3 + 70 + 51),
        ),
    ],
)
def test_instructions_of_an_image(layout, window, instructions):
    assert layout.instructions(window, 16, 4) == instructions


def test_planes_are_copied_two_windows_at_a_time():
    assert layout_of_planes(72, 144) == Layout(Rows(1, 72), 72, 2)
    assert layout_of_planes(72, 143) is None
    assert layout_of_planes(241, 1000) is None
    assert layout_of_planes(480, 960) == Layout(Rows(2, 240), 240, 2)
