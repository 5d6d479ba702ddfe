"""Instructions of convolutions, by their tiles."""

from __future__ import annotations

import pytest
from tvm import tirx

from usmp.objects.target.cores import CORES
from usmp.ops.kernels.costs import costs_of
from usmp.ops.kernels.images.convolution import Convolution
from usmp.ops.kernels.images.convolution_costs import (
    convolution_instructions,
    depthwise_instructions,
)
from usmp.ops.kernels.images.depthwise import Depthwise
from usmp.ops.kernels.loops.accumulators import Accumulators
from usmp.ops.window import Window

M4 = costs_of(CORES["cortex-m4"])
ACCUMULATORS = Accumulators(0, False, lambda c: c, lambda accumulator, indices: tirx.Evaluate(0))
INNER = Window((6, 7), (3, 3), (1, 1), (1, 1), (0, 0), (4, 5))
PADDED = Window((4, 5), (3, 3), (1, 1), (1, 1), (1, 1), (4, 5))
APART = Window((8, 9), (3, 3), (1, 1), (2, 2), (0, 0), (4, 5))


def instructions(window, channels, outputs, tile, batch=1):
    data = tirx.decl_buffer((batch, *window.data, channels), "int8", "x")
    weight = tirx.decl_buffer((1,), "int8", "w")
    conv = Convolution(data, weight, window, outputs, ACCUMULATORS)
    return convolution_instructions(conv, *tile, M4)


ONE = 16 + 3 * (10 + 12 * 9 / 4) + 15
"""A pixel and channel of three rows of 3 x 4 elements."""
PAIR = 16 + 3 * (10 + 2 * 12 * 13 / 8) + 2 * 15
QUAD = 16 + 3 * (10 + 4 * 12 * 20 / 16) + 4 * 15


@pytest.mark.parametrize(
    ("window", "outputs", "tile", "expected"),
    [
        (INNER, 1, (1, (1,)), 20 * ONE),
        (INNER, 2, (1, (2, 1)), 20 * PAIR),
        (INNER, 3, (1, (2, 1)), 20 * (PAIR + ONE)),
        # Two pixels at once: the fifth of a row is computed alone.
        (INNER, 2, (2, (2, 1)), 4 * (2 * QUAD + PAIR)),
    ],
)
def test_tiles_of_a_window_that_lies_in_the_data(window, outputs, tile, expected):
    assert instructions(window, 4, outputs, tile) == int(expected)
    assert instructions(window, 4, outputs, tile, batch=3) == 3 * int(expected)


def test_taps_that_are_apart_are_runs_of_their_own():
    assert instructions(APART, 4, 1, (1, (1,))) == 20 * (16 + 9 * (10 + 9) + 15)


def test_pixels_at_the_border_are_computed_alone():
    """Two of four rows, and three of five columns, are inside: one pair of pixels a row."""
    assert instructions(PADDED, 4, 2, (2, (2, 1))) == 2 * int(QUAD) + 16 * int(PAIR)
    assert instructions(PADDED, 4, 2, (1, (1,))) == 6 * int(2 * ONE) + 14 * int(PAIR)


def test_depthwise_convolutions():
    data, weight = tirx.decl_buffer((2, 4, 5, 6), "int8", "x"), tirx.decl_buffer((1,), "int8", "w")
    depthwise = Depthwise(data, weight, PADDED, ACCUMULATORS)
    assert depthwise_instructions(depthwise, M4) == 2 * 20 * (16 + 6 * (9 * 2.5 + 15))
