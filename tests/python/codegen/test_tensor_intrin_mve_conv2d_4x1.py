"""Convolutions of four pixels and one channel at a time by cores with MVE against plain loops."""

from __future__ import annotations

import pytest

from support.mve_convolutions import convolution_check
from support.tensor_intrinsic_programs import (
    HOST_OPTIONS,
    check_on_board,
    check_on_host,
    every_mve_build,
)


@pytest.mark.cc
@pytest.mark.parametrize("options", HOST_OPTIONS.values(), ids=HOST_OPTIONS)
def test_on_host(options, tmp_path):
    check_on_host("tensor_intrin_mve_conv2d_4x1.c", convolution_check(4), options, tmp_path)


@pytest.mark.board
@every_mve_build
def test_on_board(board, options, tmp_path):
    check_on_board("tensor_intrin_mve_conv2d_4x1.c", convolution_check(4), board, options, tmp_path)
