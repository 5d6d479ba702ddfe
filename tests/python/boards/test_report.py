"""What is printed about a run on a board."""

from __future__ import annotations

import io

from rich.console import Console

from usmp.boards.board import board_named
from usmp.boards.board_run import BoardRuns, Section
from usmp.boards.report import print_board_report

SECTIONS = [
    Section(".vectors", "flash", 0x0, 64),
    Section(".constants_flash", "flash", 0x40, 1000),
    Section(".text", "flash", 0x428, 500),
    Section(".stack", "sram", 0x20000000, 4096),
    Section(".data", "sram", 0x20001000, 8),
    Section(".pool_sram", "sram", 0x20001008, 2048),
    Section(".bss", "sram", 0x20001808, 12),
]


def printed(stack_used: int, runs: BoardRuns | None = None) -> list[str]:
    text = io.StringIO()
    runs = runs or BoardRuns([{}], [1234], stack_used, 4096)
    console = Console(file=text, width=80, highlight=False)
    print_board_report(board_named("mps2-an385"), runs, SECTIONS, console)
    return text.getvalue().splitlines()


def test_the_sections():
    rows = [line.split() for line in printed(100) if " 0x" in line]
    assert rows == [[s.name, s.memory, f"0x{s.address:08x}", str(s.size_bytes)] for s in SECTIONS]


def test_memory_by_purpose():
    """What variables begin with lies in flash too."""
    assert printed(100)[-4:] == [
        "RAM: 2048 bytes of pools, 4096 of stack, 20 of other variables",
        "Flash: 1000 bytes of constant pools, 572 of code and other constants",
        "Instructions of a run: 1234",
        "Stack: 100 of 4096 bytes used",
    ]


def test_a_stack_that_was_used_up():
    assert " ".join(printed(4096)).endswith(
        "Stack: all 4096 bytes were used, and perhaps more; give it more with STACK_SIZE in the "
        "Makefile"
    )


def test_the_first_run_of_each_entry():
    runs = BoardRuns([{}] * 3, [7, 1234, 8], 100, 4096, ["tell", "learn", "tell"])
    assert printed(100, runs)[-3:] == [
        'Instructions of a run of entry "tell": 7',
        'Instructions of a run of entry "learn": 1234',
        "Stack: 100 of 4096 bytes used",
    ]
