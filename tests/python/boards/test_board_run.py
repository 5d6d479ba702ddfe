"""The memory of a program by purpose."""

from __future__ import annotations

from usmp.boards.board import board_named
from usmp.boards.board_run import ProgramMemory, Section, program_memory


def test_sections_by_purpose():
    """The first values of variables are in flash too."""
    sizes = {
        (".text", "flash"): 1 << 0,
        (".rodata", "flash"): 1 << 1,
        (".constants_flash", "flash"): 1 << 2,
        (".constants_other", "flash"): 1 << 3,
        (".data", "sram"): 1 << 4,
        (".bss", "psram"): 1 << 5,
        (".stack", "sram"): 1 << 6,
        (".pool_sram", "sram"): 1 << 7,
        (".pool_psram", "psram"): 1 << 8,
        (".noinit_psram", "psram"): 1 << 9,
    }
    sections = [Section(name, memory, 0, size) for (name, memory), size in sizes.items()]
    assert program_memory(sections, board_named("mps2-an385")) == ProgramMemory(
        pools=0b1110000000,
        stack=0b0001000000,
        variables=0b0000110000,
        constants=0b0000001100,
        code=0b0000010011,
    )
