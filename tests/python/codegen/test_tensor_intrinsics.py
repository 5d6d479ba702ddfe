"""Tensor intrinsics against plain loops: all functions in one program, by every body."""

from __future__ import annotations

import pytest

from support import levels
from support.c_program import SANITIZERS
from support.tensor_intrinsic_programs import (
    CHECKS,
    CHECKS_OF_C,
    WITHOUT_MVE,
    results_on_board,
    results_on_host,
)
from usmp.boards.board import board_named

pytestmark = pytest.mark.slow

C_WITHOUT_MVE = {name: CHECKS_OF_C[name] for name in WITHOUT_MVE}

HOST_BODIES = {
    "without-vectors": (["clang", *SANITIZERS, "-U__SSE2__"], CHECKS_OF_C),
    "sse2": (["clang", *SANITIZERS], C_WITHOUT_MVE),
    "avx2": (["clang", *SANITIZERS, "-mavx2"], C_WITHOUT_MVE),
}
"""Without __SSE2__, the bodies are those for compilers that have no vectors."""

# The same bodies, in a long run.
OTHER_HOST_BUILDS = {
    "gcc-without-vectors": (["gcc", *SANITIZERS, "-U__SSE2__"], CHECKS_OF_C),
    "gcc-sse2": (["gcc", *SANITIZERS], CHECKS_OF_C),
    "gcc-avx2": (["gcc", *SANITIZERS, "-mavx2"], CHECKS_OF_C),
    "gcc-native": (["gcc", "-O2", "-march=native"], CHECKS_OF_C),
    "clang-avx2": (["clang", "-O1", "-mavx2"], CHECKS_OF_C),
    "clang-native": (["clang", "-O2", "-march=native"], CHECKS_OF_C),
}

# Cortex-M7 and Cortex-M33 compile the C that Cortex-M4 does.
BOARD_BODIES = [
    ("mps2-an385", "-O2", C_WITHOUT_MVE),
    ("mps2-an386", "-O2", WITHOUT_MVE),
    ("mps3-an547", "-O2", CHECKS),
    ("riscv32-virt", "-O2", C_WITHOUT_MVE),
]

OTHER_BOARD_BUILDS = [
    (board, options, checks)
    for board, checks in (("mps2-an386", WITHOUT_MVE), ("mps3-an547", CHECKS))
    for options in ("-Os", "-Og", "-O3 -fno-omit-frame-pointer", "-O2 -DTVMGEN_PORTABLE", "-O0")
] + [("riscv32-virt", "-O2", CHECKS_OF_C)]
"""The same bodies, in a long run. By the last two options of Arm, all cores compile the same C."""


@pytest.mark.cc
@pytest.mark.parametrize("name", [*HOST_BODIES, *levels.in_long_run(OTHER_HOST_BUILDS)])
def test_on_host(name, tmp_path):
    options, checks = (HOST_BODIES | OTHER_HOST_BUILDS)[name]
    assert results_on_host(options, checks, tmp_path) == dict.fromkeys(checks, "agrees")


@pytest.mark.board
@pytest.mark.parametrize(
    ("name", "options", "checks"),
    [
        pytest.param(*build, id=f"{build[0]}{build[1].replace(' ', '')}")
        for build in [*BOARD_BODIES, *levels.in_long_run(OTHER_BOARD_BUILDS)]
    ],
)
def test_on_board(name, options, checks, tmp_path):
    results = results_on_board(board_named(name), options, checks, tmp_path)
    assert results == dict.fromkeys(checks, "agrees")
