"""Report the instructions, the stack and the memory of a run on a board."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from usmp.boards.board import Board
from usmp.boards.board_run import BoardRuns, Section, program_memory
from usmp.report.text_tables import TextTable, print_table, print_text
from usmp.support.text.plain_text import shown


def print_board_report(
    board: Board, runs: BoardRuns, sections: Sequence[Section], console: Console | None = None
) -> None:
    """Print the sections of the program, RAM and flash by purpose, instructions and stack."""
    console = console or Console(highlight=False)
    rows = [
        [section.name, section.memory, f"0x{section.address:08x}", str(section.size_bytes)]
        for section in sections
    ]
    table = TextTable(
        f"Memory of the program on {board.name}",
        ("section", "memory", "address", "bytes"),
        rows,
        numbers=frozenset({3}),
    )
    print_table(table, console)
    memory = program_memory(sections, board)
    for line in (
        f"RAM: {memory.pools} bytes of pools, {memory.stack} of stack, {memory.variables} of "
        "other variables",
        f"Flash: {memory.constants} bytes of constant pools, {memory.code} of code and other "
        "constants",
        *_instructions(runs),
        _stack(runs),
    ):
        print_text(line, console)


def _instructions(runs: BoardRuns) -> list[str]:
    """Return sentences with the instructions of the first run of each entry."""
    if not runs.entries:
        return [f"Instructions of a run: {runs.instructions[0]}"]
    first: dict[str, int] = {}
    for entry, instructions in zip(runs.entries, runs.instructions, strict=True):
        first.setdefault(entry, instructions)
    return [f'Instructions of a run of entry "{shown(e)}": {n}' for e, n in first.items()]


def _stack(runs: BoardRuns) -> str:
    if runs.stack_used_bytes >= runs.stack_size_bytes:
        return (
            f"Stack: all {runs.stack_size_bytes} bytes were used, and perhaps more; give it more "
            "with STACK_SIZE in the Makefile"
        )
    return f"Stack: {runs.stack_used_bytes} of {runs.stack_size_bytes} bytes used"
