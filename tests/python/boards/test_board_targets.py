"""A board and the target of a build."""

from __future__ import annotations

import pytest

import usmp
from usmp.boards.board import board_named
from usmp.boards.board_targets import board_targets
from usmp.objects.target.targets import parse_targets, target_text


def cpu_of(board: str, target: str) -> str:
    return target_text(board_targets(board_named(board), parse_targets(target)).cpu)


@pytest.mark.parametrize(
    ("board", "target", "expected"),
    [
        ("mps2-an385", "c", "c -mcpu=cortex-m3"),
        ("mps2-an500", "c -mcpu=cortex-m7", "c -mcpu=cortex-m7"),
        ("mps3-an547", "c -mcpu=cortex-m55+nomve", "c -mcpu=cortex-m55+nomve"),
        ("mps3-an547", "c -mcpu=generic", "c -mcpu=generic"),
        ("riscv32-virt", "c", "c"),
        (
            "mps2-an385",
            "llvm",
            "llvm -mtriple=thumbv7m-none-eabi -mcpu=cortex-m3",
        ),
        (
            "riscv32-virt",
            "llvm -mtriple=riscv32-unknown-elf -mcpu=sifive-e76",
            "llvm -mtriple=riscv32-unknown-elf -mcpu=sifive-e76",
        ),
    ],
)
def test_a_board_names_its_core(board, target, expected):
    assert cpu_of(board, target) == expected


def test_the_target_of_a_board_is_the_one_that_names_its_core():
    (chosen, named) = (
        board_targets(board_named("mps3-an547"), parse_targets(target)).cpu
        for target in ("c", "c -mcpu=cortex-m55")
    )
    assert str(chosen) == str(named)


@pytest.mark.parametrize(
    ("board", "target", "description"),
    [
        ("mps2-an385", "c -mcpu=cortex-m55", "Arm MPS2 with Cortex-M3"),
        ("riscv32-virt", "c -mcpu=cortex-m4", "QEMU's RISC-V machine: RV32IMAFC"),
        (
            "mps2-an385",
            "llvm -mtriple=thumbv7em-none-eabi -mcpu=cortex-m4",
            "Arm MPS2 with Cortex-M3",
        ),
    ],
)
def test_a_target_for_another_core_than_the_board_has(board, target, description):
    with pytest.raises(ValueError) as error:
        usmp.build("model.tflite", target, board=board)
    assert str(error.value) == (
        f'board {board} and target "{target}" contradict each other; the board is: {description}; '
        "leave -mcpu out, or choose another board"
    )
