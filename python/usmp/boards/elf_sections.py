"""The sections of an ELF file, and what memory of its board they take."""

from __future__ import annotations

import struct

from usmp.boards.board import Board
from usmp.boards.board_run import Section

_SECTION_HEADER = struct.Struct("<10I")
_ALLOCATED = 2
"""SHF_ALLOC: the section takes memory while the program runs."""


def read_sections(elf: bytes, board: Board) -> list[Section]:
    """The sections of an ELF file of 32 bits that take memory of the board, in address order.

    Source: Tool Interface Standard, "Executable and Linking Format", section headers.
    """
    table, size, count, names_index = _header(elf)
    headers = [_SECTION_HEADER.unpack_from(elf, table + size * i) for i in range(count)]
    names = headers[names_index][4]
    sections = []
    for name, _, flags, address, _, length, *_ in headers:
        if flags & _ALLOCATED and length:
            start = names + name
            text = elf[start : elf.index(0, start)].decode()
            sections.append(Section(text, _memory_at(board, address), address, length))
    return sorted(sections, key=lambda section: section.address)


def _header(elf: bytes) -> tuple[int, int, int, int]:
    """Offset, entry size and length of the section header table, and the index of the names."""
    (table,) = struct.unpack_from("<I", elf, 32)
    size, count, names_index = struct.unpack_from("<3H", elf, 46)
    return table, size, count, names_index


def _memory_at(board: Board, address: int) -> str:
    for memory in board.memories:
        if memory.base <= address < memory.base + memory.size_bytes:
            return memory.name
    return "?"
