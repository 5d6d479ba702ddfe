"""The table of boards holds together."""

from __future__ import annotations

import itertools
import re
import subprocess

import pytest

from support.board_programs import every_board
from support.compilers import require
from usmp.boards.board import BOARDS, Memory, board_named


def test_the_boards():
    cores = {
        "mps2-an385": "cortex-m3",
        "mps2-an386": "cortex-m4",
        "mps2-an500": "cortex-m7",
        "mps2-an505": "cortex-m33",
        "mps3-an547": "cortex-m55",
        "riscv32-virt": "",
    }
    assert [board_named(name) for name in cores] == list(BOARDS)
    assert {board.name: board.core for board in BOARDS} == cores


def test_an_unknown_board_is_refused_with_the_known_ones():
    with pytest.raises(ValueError) as error:
        board_named("mps2-an511")
    assert str(error.value) == (
        'unknown board "mps2-an511". Did you mean "mps2-an385" or "mps2-an500" or "mps2-an505"? '
        "Boards: mps2-an385, mps2-an386, mps2-an500, mps2-an505, mps3-an547, riscv32-virt"
    )


def test_a_part_that_is_no_board_is_named_with_its_core():
    with pytest.raises(ValueError) as error:
        board_named("stm32f4")
    assert str(error.value).endswith(
        'Part stm32f411re has no project: compile with --target="c -mcpu=cortex-m4". See '
        "whether the model fits with tvmc check --boards stm32f411re"
    )


def test_an_unknown_memory_is_refused_with_the_known_ones():
    with pytest.raises(ValueError) as error:
        board_named("mps2-an385").memory("dtcm")
    assert str(error.value) == (
        'board mps2-an385 has no memory "dtcm". Its memories: flash, sram, psram'
    )


def test_text_that_is_no_part_of_a_linker_script_is_refused():
    with pytest.raises(ValueError) as error:
        board_named("mps2-an385").memory("d\ntcm")
    assert str(error.value).startswith('board mps2-an385 has no memory "d\\ntcm". Its memories: ')
    for name, shown in (("d\ntcm", "d\\ntcm"), ("dtcmé", "dtcmé"), ("2tcm", "2tcm"), ("", "")):
        with pytest.raises(ValueError) as error:
            Memory(name, 0, 16, "DTCM")
        assert str(error.value) == (
            f'a memory is called "{shown}", but the linker script takes ASCII letters, digits and '
            "_, and no digit first; give it such a name"
        )
    for description in ("a */ b", "a\nb"):
        with pytest.raises(ValueError, match="would end the comment in the linker script"):
            Memory("dtcm", 0, 16, description)


@pytest.mark.board
@every_board
def test_memories_do_not_overlap(board):
    for a, b in itertools.combinations(board.memories, 2):
        assert a.name != b.name
        assert a.base + a.size_bytes <= b.base or b.base + b.size_bytes <= a.base


@pytest.mark.board
@every_board
def test_pools_lie_in_memories_of_their_kind(board):
    assert not any(board.memory(name).is_read_only for name in board.workspace_memories)
    assert all(board.memory(name).is_read_only for name in board.constant_memories)
    assert board.memory(board.code_memory).is_read_only
    assert not board.memory(board.data_memory).is_read_only


def test_pools_leave_room_for_the_program():
    board = board_named("mps3-an547")
    room = {memory.name: board.pool_bytes(memory.name) for memory in board.memories}
    assert room == {
        "itcm": (512 - 128) << 10,
        "dtcm": (512 - 16 - 1) << 10,
        "sram": 2 << 20,
        "isram": 4 << 20,
        "flash": 8 << 20,
        "ddr": 2 << 30,
    }


@pytest.mark.board
@pytest.mark.parametrize("name", ["mps2-an385", "mps2-an386", "mps2-an500"])
def test_memories_are_those_of_the_emulated_machine(name):
    """QEMU says where its RAM is; a memory may consist of several pieces of it."""
    board = board_named(name)
    require(board.emulator.program)
    command = [board.emulator.program, *board.emulator.options[:2], "-S", "-nographic"]
    done = subprocess.run(
        [*command, "-serial", "none", "-monitor", "stdio"],
        input="info mtree -f\nquit\n",
        capture_output=True,
        text=True,
        timeout=60,
    )
    pieces = {
        (int(start, 16), int(end, 16) + 1)
        for start, end in re.findall(r"^  (\w{16})-(\w{16}) \(prio 0, ram\)", done.stdout, re.M)
    }
    for memory in board.memories:
        assert (memory.base, memory.base + memory.size_bytes) in pieces
