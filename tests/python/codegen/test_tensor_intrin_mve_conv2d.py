"""Convolutions of one, two and four pixels at a time by cores with MVE against plain loops."""

from __future__ import annotations

import pytest

from support.mve_convolutions import convolution_check
from support.tensor_intrinsic_programs import (
    HOST_OPTIONS,
    check_on_board,
    check_on_host,
    every_mve_build,
)

every_tile = pytest.mark.parametrize(("pixels", "channels"), [(1, 4), (2, 4), (4, 1)])


def file_of(pixels, channels):
    return f"tensor_intrin_mve_conv2d_{pixels}x{channels}.c"


@pytest.mark.cc
@every_tile
@pytest.mark.parametrize("options", HOST_OPTIONS.values(), ids=HOST_OPTIONS)
def test_on_host(options, pixels, channels, tmp_path):
    check_on_host(file_of(pixels, channels), convolution_check(pixels), options, tmp_path)


@pytest.mark.board
@every_tile
@every_mve_build
def test_on_board(board, options, pixels, channels, tmp_path):
    check_on_board(file_of(pixels, channels), convolution_check(pixels), board, options, tmp_path)
