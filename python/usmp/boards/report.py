"""What a run on a board took: instructions, stack, and memory by section."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from usmp.boards.board import Board
from usmp.boards.board_run import BoardRuns, Section, program_memory
from usmp.support.plain_text import shown


def print_board_report(
    board: Board, runs: BoardRuns, sections: Sequence[Section], console: Console | None = None
) -> None:
    """Print the sections of the program, RAM and flash by purpose, instructions and stack."""
    console = console or Console(highlight=False)
    title = f"Memory of the program on {board.name}"
    table = Table(
        title=Text(title), title_justify="left", box=SIMPLE_HEAD, min_width=len(title) + 2
    )
    for heading in ("section", "memory", "address"):
        table.add_column(heading)
    table.add_column("bytes", justify="right")
    for section in sections:
        address = f"0x{section.address:08x}"
        table.add_row(Text(shown(section.name)), section.memory, address, str(section.size_bytes))
    console.print(table)
    memory = program_memory(sections, board)
    for line in (
        f"RAM: {memory.pools} bytes of pools, {memory.stack} of stack, {memory.variables} of "
        "other variables",
        f"Flash: {memory.constants} bytes of constant pools, {memory.code} of code and other "
        "constants",
        *_instructions(runs),
        _stack(runs),
    ):
        console.print(line, markup=False, soft_wrap=True)


def _instructions(runs: BoardRuns) -> list[str]:
    """Those of the first run of each entry."""
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
