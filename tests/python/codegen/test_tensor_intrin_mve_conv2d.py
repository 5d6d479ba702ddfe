"""Convolutions of one, two and four pixels at a time by cores with MVE against plain loops."""

from __future__ import annotations

import pytest

from support.mve_convolutions import convolution_checks
from support.tensor_intrinsic_programs import (
    MVE_HOST_OPTIONS,
    check_on_board,
    check_on_host,
    every_mve_build,
)

FILES = [
    *("mve_conv2d_1x4_as_float", "mve_conv2d_2x4", "mve_conv2d_2x4_as_float"),
    *("mve_conv2d_4x1", "mve_conv2d_4x1_as_float"),
]


@pytest.mark.cc
@pytest.mark.parametrize("options", MVE_HOST_OPTIONS.values(), ids=MVE_HOST_OPTIONS)
def test_on_host(options, tmp_path):
    check_on_host(FILES, convolution_checks(), options, tmp_path)


@pytest.mark.board
@every_mve_build
def test_on_board(board, options, tmp_path):
    check_on_board(FILES, convolution_checks(), board, options, tmp_path)
