"""Convolutions of four pixels and one channel at a time by cores with MVE against plain loops."""

from __future__ import annotations

import pytest

from support.board_programs import every_board
from support.mve_convolutions import convolution_check
from support.tensor_intrinsic_programs import (
    BOARD_OPTIONS,
    HOST_OPTIONS,
    check_on_board,
    check_on_host,
)
from usmp.boards.board import BOARDS

AN547 = next(board for board in BOARDS if board.name == "mps3-an547")


@pytest.mark.cc
@pytest.mark.parametrize("options", HOST_OPTIONS.values(), ids=HOST_OPTIONS)
def test_on_host(options, tmp_path):
    check_on_host("tensor_intrin_mve_conv2d_4x1.c", convolution_check(4), options, tmp_path)


@pytest.mark.board
@pytest.mark.parametrize("options", BOARD_OPTIONS)
def test_on_a_board_with_vectors(options, tmp_path):
    check_on_board("tensor_intrin_mve_conv2d_4x1.c", convolution_check(4), AN547, options, tmp_path)


@pytest.mark.board
@every_board
def test_on_board(board, tmp_path):
    check_on_board("tensor_intrin_mve_conv2d_4x1.c", convolution_check(4), board, "-O2", tmp_path)
