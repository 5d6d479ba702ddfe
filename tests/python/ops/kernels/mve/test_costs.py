"""Instructions of the functions for vectors, as counted in their assembler."""

from __future__ import annotations

import pytest

from usmp.ops.kernels.mve.costs import (
    average_pool_instructions,
    depthwise_instructions,
    products_instructions,
    quads_instructions,
    taps_instructions,
    window_instructions,
)
from usmp.ops.kernels.mve.products import Rows


@pytest.mark.parametrize(
    ("rows", "channels", "pixels", "is_copied", "instructions"),
    [
        # A pair of pixels: 14 a block and 24 for each four channels, and 20.
        (Rows(1, 16), 4, 2, False, 70 + 14 + 24 + 20),
        (Rows(1, 17), 8, 4, False, 70 + 2 * (2 * (28 + 24) + 20)),
        # Several rows take 6 more each.
        (Rows(3, 16), 4, 2, False, 70 + 3 * 20 + 24 + 20),
        # Pairs are copied 16 bytes at a time.
        (Rows(1, 16), 4, 2, True, 70 + 14 + 24 + 20 + 10 + 3),
        (Rows(1, 16), 12, 2, True, 70 + 3 * 38 + 20 + 10 + 6),
        # A last pixel, and all of channels that are no multiple of four, are computed alone.
        (Rows(1, 16), 4, 3, False, 70 + 58 + 9 + 22 + 20),
        (Rows(2, 32), 4, 1, True, 70 + 2 * (18 + 6) + 22 + 20),
        (Rows(1, 16), 5, 2, False, 70 + 2 * (2 * (9 + 22) + 20)),
    ],
)
def test_products(rows, channels, pixels, is_copied, instructions):
    assert products_instructions(rows, channels, pixels, is_copied) == instructions


@pytest.mark.parametrize(
    ("rows", "channels", "pixels", "instructions"),
    [
        (Rows(1, 16), 1, 4, 70 + 32 + 19 + 24),
        (Rows(2, 17), 3, 8, 70 + 2 * (32 + 3 * (2 * 29 + 24))),
        (Rows(1, 16), 1, 5, 70 + 75 + 32 + 13 + 24),
        # Two or three are computed as four.
        (Rows(1, 16), 1, 6, 70 + 2 * 75),
        (Rows(1, 16), 1, 3, 70 + 75),
    ],
)
def test_products_of_four_pixels(rows, channels, pixels, instructions):
    assert quads_instructions(rows, channels, pixels) == instructions


def test_copies_of_windows():
    assert window_instructions(1, 1, 16) == 70 + 15 + 7 + 3
    assert window_instructions(3, 2, 17) == 70 + 3 * (15 + 2 * (7 + 6))


def test_windows_in_place():
    assert taps_instructions(Rows(1, 16), 4) == 140 + 14 + 9 + 7 + 26
    assert taps_instructions(Rows(9, 20), 5) == 140 + 9 * 14 + 2 * (9 * (18 + 7) + 26)


def test_depthwise_convolutions():
    """Pixels share a vector if they have few channels, but never if they have more than one."""
    assert depthwise_instructions(9, 16, 1, 1) == 140 + 40 + 81
    assert depthwise_instructions(9, 4, 2, 8) == 2 * (140 + 2 * 121)
    assert depthwise_instructions(4, 4, 1, 5) == 140 + 2 * 76
    assert depthwise_instructions(4, 33, 1, 5) == 140 + 11 * 76


def test_average_pools():
    assert average_pool_instructions(4, 8, 1) == 70 + 20 + 20
    assert average_pool_instructions(3, 9, 2) == 2 * (70 + 2 * 35)
