"""Read the sections of an ELF file, and find their memories of the board."""

from __future__ import annotations

from io import BytesIO

from elftools.common.exceptions import ELFError
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

from usmp.boards.board import Board
from usmp.boards.board_run import Section
from usmp.runtime.c_compiler import BuildError


def read_sections(elf: bytes, board: Board) -> list[Section]:
    """Return the sections of an ELF file that take memory, sorted by address, with their memories.

    The memory of a section outside of the board's memories is "?".

    Raises
    ------
    BuildError
        the content is no ELF file, or is damaged.
    """
    try:
        sections = [
            Section(
                section.name,
                _memory_at(board, section["sh_addr"]),
                section["sh_addr"],
                section["sh_size"],
            )
            for section in ELFFile(BytesIO(elf)).iter_sections()
            if section["sh_flags"] & SH_FLAGS.SHF_ALLOC and section["sh_size"]
        ]
    except ELFError as error:
        raise BuildError(
            f"the program that make built for board {board.name} is no whole ELF file ({error}); "
            "build it with the project's own Makefile"
        ) from None
    return sorted(sections, key=lambda section: section.address)


def _memory_at(board: Board, address: int) -> str:
    for memory in board.memories:
        if memory.base <= address < memory.base + memory.size_bytes:
            return memory.name
    return "?"
