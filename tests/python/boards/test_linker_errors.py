"""One line for what the linker says about memories that are too small."""

from __future__ import annotations

from usmp.boards.board import board_named
from usmp.boards.linker_errors import linker_error

BOARD = board_named("mps3-an547")


def test_a_memory_that_overflowed():
    stderr = (
        "/usr/bin/ld: model.elf section `.text' will not fit in region `itcm'\n"
        "/usr/bin/ld: region `itcm' overflowed by 1 byte\n"
        "/usr/bin/ld: region `dtcm' overflowed by 1200 bytes\n"
        "collect2: error: ld returned 1 exit status\n"
    )
    assert linker_error(stderr, BOARD) == (
        "the program does not fit board mps3-an547: itcm (524288 bytes at 0x00000000) overflowed "
        "by 1 bytes; dtcm (524288 bytes at 0x20000000) overflowed by 1200 bytes; use smaller pools "
        "or a smaller stack (STACK_SIZE)"
    )


def test_other_errors():
    assert linker_error("main.c:1: error: expected ';'\n", BOARD) is None
