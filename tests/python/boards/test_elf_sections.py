"""Sections of ELF files that are damaged; those of programs are tested with the emulator."""

from __future__ import annotations

from io import BytesIO
from random import Random

import pytest
from elftools.elf.elffile import ELFFile

import usmp
from support.byte_mutations import mutated_bytes
from support.relax_models import PARAMS, Attention
from usmp.boards.board import board_named
from usmp.boards.elf_sections import read_sections
from usmp.runtime import BuildError

BOARD = board_named("mps2-an385")


@pytest.fixture(scope="module")
def content() -> bytes:
    target = "llvm -mtriple=thumbv7m-none-eabi -mcpu=cortex-m3"
    factory = usmp.build(Attention, target, params=PARAMS)
    return factory.files()["codegen/host/lib/default_lib1.o"]


@pytest.mark.slow
def test_sections_that_take_memory(content):
    sections = {section.name: section for section in read_sections(content, BOARD)}
    assert any(name.startswith(".text") for name in sections)
    assert not {".symtab", ".strtab", ".ARM.attributes"} & set(sections)
    assert all(section.size_bytes > 0 for section in sections.values())
    assert {(section.address, section.memory) for section in sections.values()} == {(0, "flash")}


def test_the_memory_of_an_address(content):
    """Sections are in the order of their addresses; "?" is none of the board's memories."""
    table = int.from_bytes(content[32:36], "little")
    elf = ELFFile(BytesIO(content))
    first = next(n for n, s in enumerate(elf.iter_sections()) if s["sh_flags"] & 2 and s["sh_size"])
    at = table + 40 * first + 12
    flash, sram, _ = BOARD.memories
    end = sram.base + sram.size_bytes
    places = {flash.size_bytes: "?", sram.base: "sram", end - 1: "sram", end: "?"}
    for address, memory in places.items():
        changed = content[:at] + address.to_bytes(4, "little") + content[at + 4 :]
        *others, last = read_sections(changed, BOARD)
        assert (last.address, last.memory) == (address, memory)
        assert {(other.address, other.memory) for other in others} == {(0, "flash")}


def test_what_is_no_elf_file_is_refused():
    with pytest.raises(BuildError) as refused:
        read_sections(b"not ELF", BOARD)
    assert str(refused.value) == (
        "the program that make built for board mps2-an385 is no whole ELF file (Magic number does "
        "not match); build it with the project's own Makefile"
    )


@pytest.mark.slow
def test_damaged_files_are_read_or_refused(content):
    table = int.from_bytes(content[32:36], "little")
    positions = [*range(52), *range(table, len(content))]
    generator = Random(0)
    refused = 0
    for _ in range(500):
        try:
            read_sections(mutated_bytes(content, positions, generator), BOARD)
        except BuildError:
            refused += 1
    assert 0 < refused < 500
